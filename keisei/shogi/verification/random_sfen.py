"""Random positions: kings and pieces scattered over the board and the hands, rules of placement kept.

Play from the start position rarely shows pins, double checks, promoted pieces at home or kings in the enemy
camp; scattered pieces show them at once. The side that just moved may still be in check: whoever uses
these SFENs lets the engine refuse them and draws again.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from random import Random

SIZE = 9
PIECES = {"R": 2, "B": 2, "G": 4, "S": 4, "N": 4, "L": 4, "P": 18}
RANKS_OUT_OF_REACH = {"P": 1, "L": 1, "N": 2}  # last ranks where the unpromoted piece could never move
PROMOTED_SHARE = 0.3
IN_HAND_SHARE = 0.25
DENSITIES = (0.1, 0.25, 0.5)
CAMP_SQUARES = 27

Square = tuple[int, int]  # rank from a, file from 9


class _Diagram:
    """A board being filled; refuses nothing, but promotes what could not stand unpromoted."""

    def __init__(self) -> None:
        self.pieces: dict[Square, str] = {}
        self.hands: Counter[str] = Counter()

    def put(self, piece: str, square: Square, black: bool, promoted: bool) -> None:
        rank, file = square
        own = piece if black else piece.lower()
        ranks_to_go = rank if black else SIZE - 1 - rank
        stuck = ranks_to_go < RANKS_OUT_OF_REACH.get(piece, 0)
        doubled = piece == "P" and any(self.pieces.get((other, file)) == own for other in range(SIZE))
        promoted = (promoted or stuck or doubled) and piece not in "GK"
        self.pieces[square] = f"+{own}" if promoted else own

    def sfen(self, turn: str) -> str:
        rows = "/".join(self._row(rank) for rank in range(SIZE))
        order = "".join(PIECES) + "".join(PIECES).lower()
        hands = "".join(_counted(self.hands[piece], piece) for piece in order)
        return f"{rows} {turn} {hands or '-'} 1"

    def _row(self, rank: int) -> str:
        cells = (self.pieces.get((rank, file), "") for file in range(SIZE))
        runs = ((bool(piece), list(run)) for piece, run in groupby(cells, key=bool))
        return "".join("".join(run) if filled else str(len(run)) for filled, run in runs)


def _counted(count: int, piece: str) -> str:
    return "" if count == 0 else piece if count == 1 else f"{count}{piece}"


def _shuffled_squares(rng: Random) -> list[Square]:
    squares = [(rank, file) for rank in range(SIZE) for file in range(SIZE)]
    rng.shuffle(squares)
    return squares


def scattered_sfen(rng: Random) -> str:
    """Pieces anywhere, owned by anyone, on the board, in hand or out of the game."""
    diagram, squares, density = _Diagram(), _shuffled_squares(rng), rng.choice(DENSITIES)
    diagram.put("K", squares.pop(), True, False)
    diagram.put("K", squares.pop(), False, False)
    for piece, count in PIECES.items():
        for _ in range(count):
            black = rng.random() < 0.5
            if rng.random() < density:
                diagram.put(piece, squares.pop(), black, rng.random() < PROMOTED_SHARE)
            elif rng.random() < IN_HAND_SHARE:
                diagram.hands[piece if black else piece.lower()] += 1
    return diagram.sfen(rng.choice("bw"))


def entered_sfen(rng: Random) -> str:
    """One king in the enemy camp with about as many pieces and points as a declaration needs."""
    diagram, black = _Diagram(), rng.random() < 0.5
    squares = sorted(_shuffled_squares(rng), key=lambda square: square[0] if black else -square[0])
    camp, elsewhere = squares[:CAMP_SQUARES], squares[CAMP_SQUARES:]
    rng.shuffle(camp)
    rng.shuffle(elsewhere)
    diagram.put("K", camp.pop(), black, False)
    diagram.put("K", elsewhere.pop(), not black, False)
    pieces = [piece for piece, count in PIECES.items() for _ in range(count)]
    rng.shuffle(pieces)
    for _ in range(rng.randint(8, 12)):
        diagram.put(pieces.pop(), camp.pop(), black, rng.random() < 0.5)
    for piece in pieces:
        mine = rng.random() < 0.4
        diagram.hands[piece if mine == black else piece.lower()] += 1
    return diagram.sfen("b" if black else "w")
