"""Numbers that are read late on a GPU; on a CPU, where nothing is late, each in its turn and with its label."""

import torch

from keisei.core.late_numbers import LateNumbers


def numbers_of_a_cpu() -> LateNumbers[str]:
    return LateNumbers[str](torch.device("cpu"))


def test_what_was_added_is_due_at_once_and_only_once() -> None:
    late = numbers_of_a_cpu()
    late.add(torch.tensor([1.0, 2.5]), "first")
    assert list(late.due()) == [([1.0, 2.5], "first")]
    assert list(late.due()) == []
    assert list(late.rest()) == []


def test_numbers_come_in_the_order_of_their_making_with_their_labels() -> None:
    late = numbers_of_a_cpu()
    for number, label in enumerate("abc"):
        late.add(torch.tensor([float(number)]), label)
    due = late.due()
    assert next(due) == ([0.0], "a")
    late.add(torch.tensor([3.0]), "d")
    assert list(late.rest()) == [([1.0], "b"), ([2.0], "c"), ([3.0], "d")]
    assert list(due) == []
