"""How plies ended, a byte each: what a device that played them has to be told, beside a value here and there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from keisei.core.rollout_rows import RolloutRows

BITS = TERMINATED, TRUNCATED, FORCED, LEARNER, WON, LOST = tuple(1 << bit for bit in range(6))


class Outcomes(NamedTuple):
    """The columns of `RolloutRows` that a byte holds, in any shape."""

    terminated: Tensor  # bool
    truncated: Tensor  # bool
    forced: Tensor  # bool
    learner: Tensor  # bool
    reward: Tensor  # float32


def packed_outcomes(rows: RolloutRows) -> NDArray[np.uint8]:
    """One byte a row, in the shape of the rows."""
    columns = {
        TERMINATED: rows.terminated,
        TRUNCATED: rows.truncated,
        FORCED: rows.forced,
        LEARNER: rows.learner,
        WON: rows.reward > 0,
        LOST: rows.reward < 0,
    }
    packed = np.zeros(rows.reward.shape, np.uint8)
    for bit, column in columns.items():
        packed |= column.view(np.uint8) * np.uint8(bit)
    return packed


def unpacked_outcomes(packed: Tensor) -> Outcomes:
    """From uint8 of any shape, wherever it lies."""
    terminated, truncated, forced, learner, won, lost = ((packed & bit).bool() for bit in BITS)
    return Outcomes(terminated, truncated, forced, learner, won.float() - lost.float())
