"""What the auxiliary heads are taught, read off a finished rollout ``[T, N]``, in each mover's view."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keisei.core.rollout_rows import UNKNOWN, RolloutRows
from keisei.shogi.types import PIECE_VALUE

# Packed record (native/record.hpp): 81 squares (0 empty, 1 + type the mover's, 15 + type the opponent's) and
# each hand in four bytes: pawns; lances, knights; silvers, golds; bishops, rooks (in the low, the high half).
SQUARES = 81
HAND_BYTES = 4
HALF_BYTE_BITS = 4
LOW_HALF = 0x0F

# The head learns what the balance will be after a few exchanges; even, so that the same player moves then.
MATERIAL_HORIZON_PLIES = 8
# Divisors that bring typical targets to about 1.
MATERIAL_SCALE = 2000.0
MOVES_LEFT_SCALE_PLIES = 64.0

_SQUARE_VALUE = np.array([0, *PIECE_VALUE, *(-value for value in PIECE_VALUE)], np.int32)
_PAWN, _LANCE, _KNIGHT, _SILVER, _GOLD, _BISHOP, _ROOK = PIECE_VALUE[:7]
_LOW_HALF_VALUE = np.array([0, _LANCE, _SILVER, _BISHOP], np.int32)
_HIGH_HALF_VALUE = np.array([0, _KNIGHT, _GOLD, _ROOK], np.int32)


def material_balance(records: NDArray[np.uint8]) -> NDArray[np.int32]:
    """The mover's material less the opponent's, hands included: ``[..., 96]`` -> ``[...]``."""
    board = _SQUARE_VALUE[records[..., :SQUARES]].sum(axis=-1, dtype=np.int32)
    movers_hand = records[..., SQUARES : SQUARES + HAND_BYTES]
    opponents_hand = records[..., SQUARES + HAND_BYTES : SQUARES + 2 * HAND_BYTES]
    return np.asarray(board + _hand_value(movers_hand) - _hand_value(opponents_hand), np.int32)


def _hand_value(hand: NDArray[np.uint8]) -> NDArray[np.int32]:
    pawns = hand[..., 0].astype(np.int32) * _PAWN
    low, high = (hand & LOW_HALF).astype(np.int32), (hand >> HALF_BYTE_BITS).astype(np.int32)
    return np.asarray(pawns + low @ _LOW_HALF_VALUE + high @ _HIGH_HALF_VALUE, np.int32)


def material_targets(rows: RolloutRows) -> NDArray[np.float32]:
    """The scaled balance some plies later, or in the last position of the game that the rollout holds."""
    balance = material_balance(rows.record)
    ply = np.arange(len(balance))[:, None]
    later = np.minimum(ply + MATERIAL_HORIZON_PLIES, _last_rows(rows.ends()))
    sign = 1 - 2 * ((later - ply) % 2)
    targets = sign * np.take_along_axis(balance, later, axis=0) / MATERIAL_SCALE
    return targets.astype(np.float32)


def moves_left_targets(rows: RolloutRows) -> NDArray[np.float32]:
    """Scaled plies to the end, this one included, where the rules end the game within the rollout."""
    ends = rows.ends()
    last = _last_rows(ends)
    seen = np.take_along_axis(rows.terminated, last, axis=0)
    plies = last - np.arange(len(ends))[:, None] + 1
    return np.where(seen, plies / MOVES_LEFT_SCALE_PLIES, UNKNOWN).astype(np.float32)


def reply_targets(rows: RolloutRows) -> NDArray[np.int32]:
    """The action of the next ply of the same game as recorded, in the view of its mover, the opponent."""
    replies = np.full_like(rows.action, UNKNOWN)
    replies[:-1] = np.where(rows.ends()[:-1], UNKNOWN, rows.action[1:])
    return replies


def _last_rows(ends: NDArray[np.bool_]) -> NDArray[np.intp]:
    """For each row the index t of the last row of its game within the rollout, ``[T, N]``."""
    plies = np.arange(len(ends))[:, None]
    stops = np.where(ends, plies, len(ends) - 1)
    return np.minimum.accumulate(stops[::-1], axis=0)[::-1]
