"""A move, independent of any position."""

from dataclasses import dataclass
from typing import Final

from keisei.errors import IllegalMoveError
from keisei.shogi import _native
from keisei.shogi.types import SQUARES, PieceType

_SQUARE_MASK: Final = 127
_ORIGIN_SHIFT: Final = 7
_PROMOTE_BIT: Final = 1 << 14


@dataclass(frozen=True, slots=True, order=True)
class Move:
    """A board move or a drop.

    >>> move = Move.from_usi("8h2b+")
    >>> move.usi, move.promotes, move.is_drop
    ('8h2b+', True, False)
    """

    #: 16 bits: destination, origin or 81 + hand type, promotion.
    code: int

    @classmethod
    def from_usi(cls, usi: str) -> "Move":
        code = _native.parse_move(usi) if usi.isascii() else 0
        if code == 0:
            raise IllegalMoveError(
                f"not a USI move: {usi!r}; expected a form like '7g7f', '8h2b+' or 'P*5e' (files 1-9, ranks a-i)"
            )
        return cls(code)

    @property
    def usi(self) -> str:
        return _native.format_move(self.code)

    @property
    def to_square(self) -> int:
        return self.code & _SQUARE_MASK

    @property
    def is_drop(self) -> bool:
        return self._origin >= SQUARES

    @property
    def from_square(self) -> int | None:
        """The origin on the board, None for a drop."""
        return None if self.is_drop else self._origin

    @property
    def drop_type(self) -> PieceType | None:
        return PieceType(self._origin - SQUARES) if self.is_drop else None

    @property
    def promotes(self) -> bool:
        return bool(self.code & _PROMOTE_BIT)

    @property
    def _origin(self) -> int:
        return self.code >> _ORIGIN_SHIFT & _SQUARE_MASK

    def __int__(self) -> int:
        return self.code

    def __str__(self) -> str:
        return self.usi

    def __repr__(self) -> str:
        return f"Move.from_usi({self.usi!r})"
