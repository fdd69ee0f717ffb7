"""The 46 observation planes written down once more, plane by plane, for comparison with the engine's."""

import numpy as np
import numpy.typing as npt
from plain_board import other, read_board

KINDS = ("P", "L", "N", "S", "G", "B", "R", "K", "+P", "+L", "+N", "+S", "+B", "+R")
HELD = ("P", "L", "N", "S", "G", "B", "R")
SET_SIZE = {"P": 18, "L": 4, "N": 4, "S": 4, "G": 4, "B": 2, "R": 2}


def plain_observation(sfen: str, earlier_occurrences: int, ply_cap: int) -> npt.NDArray[np.float32]:
    """float32 (46, 9, 9) of a position that occurred before so many times in its game."""
    board = read_board(sfen)
    planes = np.zeros((46, 9, 9), np.float32)
    for (row, column), piece in board.pieces.items():
        mine = piece.isupper() == (board.turn == "b")
        seen = (row, column) if board.turn == "b" else (8 - row, 8 - column)
        planes[(KINDS.index(piece.upper()) + (0 if mine else 14), *seen)] = 1
    for first_plane, side in ((28, board.turn), (35, other(board.turn))):
        for offset, kind in enumerate(HELD):
            count = board.hands.get(kind if side == "b" else kind.lower(), 0)
            planes[first_plane + offset] = count / SET_SIZE[kind]
    planes[42] = board.turn == "b"
    planes[43] = board.ply / ply_cap
    planes[44] = earlier_occurrences / 3
    planes[45] = board.in_check(board.turn)
    return planes
