"""The vocabulary of the game: colours, outcomes, rules, starting positions."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Final

from keisei.shogi import _native


class Color(IntEnum):
    """BLACK (先手) moves first."""

    BLACK = 0
    WHITE = 1

    @property
    def opponent(self) -> "Color":
        return Color(1 - self)


class PieceType(IntEnum):
    """In the order of the observation planes; the first seven can be held in hand."""

    PAWN = 0
    LANCE = 1
    KNIGHT = 2
    SILVER = 3
    GOLD = 4
    BISHOP = 5
    ROOK = 6
    KING = 7
    PRO_PAWN = 8
    PRO_LANCE = 9
    PRO_KNIGHT = 10
    PRO_SILVER = 11
    HORSE = 12
    DRAGON = 13


class Reason(StrEnum):
    """Why a game ended. `REASONS` gives the number that arrays use for each."""

    CHECKMATE = "checkmate"
    NO_LEGAL_MOVES = "no_legal_moves"
    REPETITION = "repetition"
    PERPETUAL_CHECK = "perpetual_check"
    IMPASSE = "impasse"
    DECLARATION = "declaration"
    MAX_PLIES = "max_plies"
    RESIGNATION = "resignation"


#: Reason by its number in `ShogiVectorEnv.reasons`; 0 means that the game goes on.
REASONS: Final[tuple[Reason | None, ...]] = (None, *Reason)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a finished game: the winner (None for a draw) and the reason."""

    winner: Color | None
    reason: Reason


class ImpasseRule(StrEnum):
    """What happens when kings have entered the enemy camp."""

    OFF = "off"
    CSA27 = "csa27"
    CSA24 = "csa24"
    TRY = "try"

    @property
    def code(self) -> int:
        return list(ImpasseRule).index(self)


STANDARD_SFEN: Final[str] = _native.STANDARD_SFEN

#: Handicap starts by name. White (上手) gives the pieces and moves first.
HANDICAP_SFENS: Final[dict[str, str]] = {
    "lance": "lnsgkgsn1/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "right_lance": "1nsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "bishop": "lnsgkgsnl/1r7/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "rook": "lnsgkgsnl/7b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "rook_lance": "lnsgkgsn1/7b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "two_piece": "lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "four_piece": "1nsgkgsn1/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "six_piece": "2sgkgs2/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "eight_piece": "3gkg3/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
    "ten_piece": "4k4/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
}

#: Playing values by `PieceType` in hundredths of a pawn; a held piece counts as its unpromoted self.
PIECE_VALUE: Final[tuple[int, ...]] = tuple(_native.PIECE_VALUE)

DEFAULT_MAX_PLIES: Final[int] = 512
SQUARES: Final[int] = 81


def square_name(square: int) -> str:
    """USI name of a square: 0 is 9a, 80 is 1i."""
    return f"{9 - square % 9}{'abcdefghi'[square // 9]}"
