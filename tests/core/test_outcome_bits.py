"""A byte a ply says how it ended, exactly."""

import itertools

import numpy as np
import torch

from keisei.core.outcome_bits import Outcomes, packed_outcomes, unpacked_outcomes
from keisei.core.rollout_rows import RolloutRows


def test_every_outcome_comes_back_as_it_was() -> None:
    flags = itertools.product((False, True), repeat=4)
    every = [(*four, reward) for four in flags for reward in (-1, 0, 1)]
    rows = RolloutRows.allocate(3, len(every) // 3)
    for number, name in enumerate(Outcomes._fields):
        getattr(rows, name)[:] = np.array([outcome[number] for outcome in every]).reshape(3, -1)
    packed = packed_outcomes(rows)
    assert packed.dtype == np.uint8
    assert packed.shape == (3, 16)
    assert len(np.unique(packed)) == len(every)
    for name, column in unpacked_outcomes(torch.from_numpy(packed))._asdict().items():
        expected = getattr(rows, name)
        assert column.numpy().dtype == expected.dtype, name
        assert np.array_equal(column.numpy(), expected), name
