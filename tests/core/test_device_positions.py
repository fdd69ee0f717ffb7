"""Tensor operations on packed positions against the native engine, which draws the same planes and masks."""

import numpy as np
import pytest
import torch
from self_play import environment

from keisei.core.device_positions import (
    PositionTables,
    mask_of_lists,
    material_of,
    packed_mask,
    planes_of,
    unpacked_mask,
)
from keisei.shogi import ShogiVectorEnv, Starts
from keisei.shogi.positions import (
    join_lists,
    legal_actions,
    legal_mask_bits,
    legal_masks,
    material_balance,
    unpack_planes,
)

SIZES = (2187, 13527)
TABLES = PositionTables.on(torch.device("cpu"))


@pytest.fixture(scope="module")
def records() -> np.ndarray:
    env = ShogiVectorEnv(64, 3, 1, starts=Starts(random_prefix=1, handicap=1), max_plies=300)
    seen = []
    for _ in range(40):
        seen.append(env.records.copy())
        env.step(env.random_actions())
    return np.concatenate(seen)


def test_planes_are_those_of_the_engine(records: np.ndarray) -> None:
    planes = planes_of(torch.from_numpy(records), TABLES)
    np.testing.assert_allclose(planes.numpy(), unpack_planes(records), rtol=0, atol=1e-7)
    assert planes.is_contiguous(memory_format=torch.channels_last)


def test_planes_without_a_ply_cap_have_no_share_of_it() -> None:
    record = environment().records[:1].copy()
    record[0, 92:94] = 0
    assert not planes_of(torch.from_numpy(record), TABLES)[0, 43].any()


@pytest.mark.parametrize("size", SIZES)
def test_masks_and_their_bits_are_those_of_the_engine(records: np.ndarray, size: int) -> None:
    lists = legal_actions(records, size)
    joined, ends = np.zeros(len(records) * 593, np.uint16), np.zeros(len(records), np.int32)
    join_lists(lists, joined, ends)
    joined[int(ends[-1]) :] = 12_345  # behind the lists lies what earlier ones left
    mask = mask_of_lists(torch.from_numpy(joined.view(np.int16)), torch.from_numpy(ends), size)
    assert np.array_equal(mask.numpy(), legal_masks(records, size))
    bits = packed_mask(mask, TABLES)
    assert np.array_equal(bits.numpy(), legal_mask_bits(records, size))
    assert torch.equal(unpacked_mask(bits, size), mask)


def test_material_is_that_of_the_engine(records: np.ndarray) -> None:
    packed = records.reshape(40, 64, 96)
    assert np.array_equal(material_of(torch.from_numpy(packed), TABLES).numpy(), material_balance(packed))
