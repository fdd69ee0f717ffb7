"""The declared columns of a row: what rollout, buffer and slots agree on."""

import mmap

import numpy as np
from rollout_samples import random_rollout

from keisei.core.rollout_rows import RolloutRows, RowTargets


def test_a_rollout_survives_a_shared_memory_slot() -> None:
    rows = random_rollout(seed=3, plies=7, games=5)
    with mmap.mmap(-1, RolloutRows.nbytes(7, 5)) as memory, memoryview(memory) as view:
        RolloutRows.from_buffer(view, 7, 5)[:] = rows
        received = RolloutRows.from_buffer(view, 7, 5)
        for name, array in rows.arrays().items():
            np.testing.assert_array_equal(received.arrays()[name], array, err_msg=name)
        del received


def test_a_slot_costs_no_more_than_its_rows_and_the_alignment() -> None:
    rows = 64 * 128
    assert RolloutRows.nbytes(64, 128) - rows * RolloutRows.bytes_per_row() < 64 * len(RolloutRows.columns())


def test_every_column_can_become_a_tensor_without_a_copy() -> None:
    import torch

    for table in (RolloutRows.allocate(2, 3), RowTargets.allocate(2, 3)):
        for name, array in table.arrays().items():
            assert torch.from_numpy(array).data_ptr() == array.ctypes.data, name


def test_ends_are_terminations_and_truncations() -> None:
    rows = random_rollout(seed=1, plies=20, games=3)
    assert rows.ends().sum() == rows.terminated.sum() + rows.truncated.sum() > 0
