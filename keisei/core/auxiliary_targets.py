"""What the auxiliary heads are taught, read off a finished rollout ``[T, N]``, in each mover's view."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keisei.core.rollout_rows import UNKNOWN, RolloutRows
from keisei.shogi.positions import material_balance

# The head learns what the balance will be after a few exchanges; even, so that the same player moves then.
MATERIAL_HORIZON_PLIES = 8
# Divisors that bring typical targets to about 1.
MATERIAL_SCALE = 2000.0
MOVES_LEFT_SCALE_PLIES = 64.0


def material_targets(rows: RolloutRows, *, num_threads: int = 1) -> NDArray[np.float32]:
    """The scaled balance some plies later, or in the last position of the game that the rollout holds."""
    balance = material_balance(rows.record, num_threads=num_threads)
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
