"""Tests of keisei.core.state_tensors."""

import json
import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from keisei.core.state_tensors import flatten_state, restore_state
from keisei.errors import CheckpointError

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
TENSORS = st.lists(st.floats(-1e6, 1e6), max_size=4).map(
    lambda values: torch.tensor(values, dtype=torch.float64)
)
STATES = st.recursive(
    SCALARS | TENSORS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.integers() | st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=20,
)


def there_and_back(state: object) -> Any:
    tensors, skeleton = flatten_state(state)
    return restore_state(tensors, json.loads(json.dumps(skeleton, allow_nan=False)))


def assert_same(one: object, other: object) -> None:
    """Equal in type, structure, order and every bit."""
    assert type(one) is type(other)
    if isinstance(one, torch.Tensor):
        assert one.dtype == other.dtype and one.shape == other.shape and torch.equal(one, other)
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    elif isinstance(one, dict):
        assert_same(list(one), list(other))
        assert_same(list(one.values()), list(other.values()))
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for mine, theirs in zip(one, other, strict=True):
            assert_same(mine, theirs)
    else:
        assert one == other


@given(STATES)
def test_any_nested_state_comes_back_the_same(state: object) -> None:
    assert_same(there_and_back(state), state)


def test_keys_and_paths_that_spell_alike_do_not_collide() -> None:
    one, two = torch.zeros(1), torch.ones(1)
    state = {0: one, "0": two, "a/b": one, "a": {"b": two}}
    assert_same(there_and_back(state), state)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64, np.int64, np.float32, np.bool_])
def test_numpy_arrays_stay_numpy_arrays(dtype: type) -> None:
    array = np.array([[0, 1], [1, 0]], dtype=dtype)
    assert_same(there_and_back({"games": array}), {"games": array})


def test_an_array_is_captured_not_shared() -> None:
    array = np.zeros(3)
    tensors, skeleton = flatten_state(array)
    array[:] = 5
    assert_same(restore_state(tensors, skeleton), np.zeros(3))


@pytest.mark.parametrize("value", [math.nan, math.inf, object(), {1, 2}, b"bytes", np.float64(1.0), 1j])
def test_what_cannot_come_back_the_same_is_refused_by_its_place(value: object) -> None:
    with pytest.raises(CheckpointError, match="/optimizer/1"):
        flatten_state({"optimizer": [0, value]})


def test_an_odd_key_is_refused() -> None:
    with pytest.raises(CheckpointError, match=r"\(1, 2\)"):
        flatten_state({(1, 2): 0})


@pytest.mark.parametrize(
    "skeleton", [{}, {"tensor": "missing"}, {"tensor": 3}, {"pickle": "x"}, {"tuple": 1}]
)
def test_a_damaged_skeleton_is_refused(skeleton: object) -> None:
    with pytest.raises(CheckpointError, match="older checkpoint"):
        restore_state({}, [skeleton])


def train(model: torch.nn.Module, optimizer: torch.optim.Optimizer, steps: range) -> None:
    for step in steps:
        inputs = torch.randn(8, 4, generator=torch.Generator().manual_seed(step))
        optimizer.zero_grad()
        model(inputs).square().mean().backward()
        optimizer.step()


def fresh() -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    return model, torch.optim.AdamW(model.parameters(), lr=1e-2, betas=(0.8, 0.95), weight_decay=0.1)


def test_adamw_resumes_bit_for_bit() -> None:
    straight, straight_optimizer = fresh()
    train(straight, straight_optimizer, range(20))
    model, optimizer = fresh()
    train(model, optimizer, range(10))
    state = optimizer.state_dict()
    returned = there_and_back(state)
    assert_same(returned, state)

    resumed, resumed_optimizer = fresh()
    resumed.load_state_dict(model.state_dict())
    resumed_optimizer.load_state_dict(returned)
    train(resumed, resumed_optimizer, range(10, 20))
    assert_same(dict(resumed.state_dict()), dict(straight.state_dict()))
    assert_same(resumed_optimizer.state_dict(), straight_optimizer.state_dict())
