"""CUDA graphs on a machine without CUDA: a function as it is, and what one that is to be captured must not do."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from card_rules import NothingFromTheHost
from torch import Tensor

from keisei.core.captured import Captured


def test_on_a_cpu_it_is_the_function_itself() -> None:
    doubled = Captured(lambda left, right: (2 * left, left + right))
    one, two, three = (torch.full((3,), float(number)) for number in (1, 2, 3))
    first = doubled(one, two)
    second = doubled(three, two)
    assert first[0].tolist() == [2, 2, 2]
    assert first[1].tolist() == [3, 3, 3]
    assert second[1].tolist() == [5, 5, 5]


@pytest.mark.parametrize(
    "function",
    [
        lambda numbers, _places: numbers * torch.tensor([1.0, 2.0]),
        lambda numbers, _places: numbers * torch.as_tensor(3.0),
        lambda numbers, _places: numbers * torch.from_numpy(np.ones(2, np.float32)),
        lambda numbers, places: numbers.__setitem__(places, 1.0),
        lambda numbers, places: numbers[places.new_tensor([1])],
        lambda numbers, _places: numbers[numbers > 0],
        lambda numbers, _places: numbers.nonzero(),
        lambda numbers, _places: numbers + numbers.sum().item(),
        lambda numbers, _places: numbers if numbers.any() else -numbers,
    ],
)
def test_the_rules_for_captured_functions_see_the_host(function: Callable[[Tensor, Tensor], object]) -> None:
    numbers, places = torch.zeros(2), torch.zeros(1, dtype=torch.int64)
    with (
        pytest.raises(AssertionError, match=r"which the host has made|waits for"),
        NothingFromTheHost([numbers, places]),
    ):
        function(numbers, places)


def test_the_rules_for_captured_functions_let_the_device_work() -> None:
    numbers, places = torch.zeros(2), torch.zeros(1, dtype=torch.int64)
    with NothingFromTheHost([numbers, places]):
        chosen = torch.where(numbers > 0, numbers, 3.0)[places] + torch.full((), 2.0) * torch.arange(2)
        chosen.scatter_(0, places, 1.0).masked_fill_(chosen > 4, 0)
    assert chosen.tolist() == [1.0, 0.0]
