"""A board in plain Python, read from SFEN text: slow, obvious, and independent of the engine.

Squares are (row, column), row 0 is rank a and column 0 is file 9; pieces are SFEN letters such as "P" or "+r".
"""

import re
from dataclasses import dataclass

Square = tuple[int, int]

_NORTH, _SOUTH, _WEST, _EAST = (-1, 0), (1, 0), (0, -1), (0, 1)
_ORTHOGONAL = (_NORTH, _SOUTH, _WEST, _EAST)
_DIAGONAL = ((-1, -1), (-1, 1), (1, -1), (1, 1))
_GOLD = (*_ORTHOGONAL, (-1, -1), (-1, 1))

#: What each piece of Black does in one step, and along which lines it runs.
STEPS: dict[str, tuple[Square, ...]] = {
    "P": (_NORTH,),
    "N": ((-2, -1), (-2, 1)),
    "S": (_NORTH, *_DIAGONAL),
    "G": _GOLD,
    "K": (*_ORTHOGONAL, *_DIAGONAL),
    "+P": _GOLD,
    "+L": _GOLD,
    "+N": _GOLD,
    "+S": _GOLD,
    "+B": _ORTHOGONAL,
    "+R": _DIAGONAL,
}
SLIDES: dict[str, tuple[Square, ...]] = {
    "L": (_NORTH,),
    "B": _DIAGONAL,
    "R": _ORTHOGONAL,
    "+B": _DIAGONAL,
    "+R": _ORTHOGONAL,
}


@dataclass
class PlainBoard:
    pieces: dict[Square, str]
    hands: dict[str, int]
    turn: str
    ply: int

    def of(self, side: str) -> dict[Square, str]:
        return {square: piece for square, piece in self.pieces.items() if side_of(piece) == side}

    def reach(self, square: Square) -> set[Square]:
        """Every square the piece on a square attacks, own pieces included."""
        piece = self.pieces[square]
        kind = piece.upper()
        forward = 1 if side_of(piece) == "b" else -1
        reached = {_shifted(square, step, forward) for step in STEPS.get(kind, ())}
        for step in SLIDES.get(kind, ()):
            target = _shifted(square, step, forward)
            while on_board(target):
                reached.add(target)
                if target in self.pieces:
                    break
                target = _shifted(target, step, forward)
        return {target for target in reached if on_board(target)}

    def attackers(self, target: Square, side: str) -> set[Square]:
        return {square for square in self.of(side) if target in self.reach(square)}

    def in_check(self, side: str) -> bool:
        king = next(square for square, piece in self.of(side).items() if piece.upper() == "K")
        return bool(self.attackers(king, other(side)))


def side_of(piece: str) -> str:
    return "b" if piece.isupper() else "w"


def other(side: str) -> str:
    return "w" if side == "b" else "b"


def on_board(square: Square) -> bool:
    return 0 <= square[0] < 9 and 0 <= square[1] < 9


def _shifted(square: Square, step: Square, forward: int) -> Square:
    return square[0] + forward * step[0], square[1] + forward * step[1]


def read_square(name: str) -> Square:
    return ord(name[1]) - ord("a"), 9 - int(name[0])


def read_board(sfen: str) -> PlainBoard:
    board, turn, hands, number = sfen.split()
    pieces: dict[Square, str] = {}
    for row, rank in enumerate(board.split("/")):
        column = 0
        for word in re.findall(r"\+?[a-zA-Z]|\d", rank):
            if word.isdigit():
                column += int(word)
            else:
                pieces[row, column] = word
                column += 1
    held = {letter: int(count or 1) for count, letter in re.findall(r"(\d*)([a-zA-Z])", hands)}
    return PlainBoard(pieces, held, turn, int(number) - 1)
