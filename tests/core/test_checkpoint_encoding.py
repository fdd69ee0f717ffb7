"""Tests of keisei.core.checkpoint_encoding."""

import json
import math

import pytest
import safetensors.torch
import torch

from keisei.core.checkpoint_encoding import encode_groups, encode_json
from keisei.errors import CheckpointError


def test_tied_and_sliced_and_transposed_tensors_are_written_with_their_values() -> None:
    weight = torch.arange(12.0).reshape(3, 4).requires_grad_()
    tensors = {"weight": weight, "tied": weight, "slice": weight[1:], "transposed": weight.t()}
    returned = safetensors.torch.load(encode_groups({"model": tensors})["model.safetensors"])
    assert returned.keys() == tensors.keys()
    assert all(torch.equal(returned[name], tensors[name]) for name in tensors)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.complex64]
)
def test_a_number_that_is_not_finite_is_refused_by_its_name(bad: float, dtype: torch.dtype) -> None:
    tensor = torch.zeros(10, dtype=dtype)
    tensor[3] = bad
    with pytest.raises(CheckpointError, match=r"1 of 10 values of 'optimizer: exp_avg'"):
        encode_groups({"model": {}, "optimizer": {"exp_avg": tensor}})


@pytest.mark.parametrize(
    "names", [("optimizer",), ("model", "Games"), ("model", "a/b"), ("model", ""), ("model", "..")]
)
def test_odd_or_missing_groups_are_refused(names: tuple[str, ...]) -> None:
    with pytest.raises(CheckpointError, match="'model'"):
        encode_groups({name: {} for name in names})


def test_json_comes_back_equal() -> None:
    state = {"a": [1, 2.5, None, True], "b": {"c": "ü \u2028 \U0001f600", "big": 2**200}, "tiny": 5e-324}
    assert json.loads(encode_json("state", state)) == state


@pytest.mark.parametrize(
    "value", [math.nan, [math.inf], (1, 2), {1: 2}, {1, 2}, b"x", torch.zeros(1), {"deep": [{"tuple": ()}]}]
)
def test_what_json_would_change_or_lose_is_refused_by_its_key(value: object) -> None:
    with pytest.raises(CheckpointError, match="state 'culprit'"):
        encode_json("state", {"fine": 1, "culprit": value})
