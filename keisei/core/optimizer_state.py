"""An optimiser's state for a checkpoint, and back, as the device of this run wants it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

#: What belongs to the device and not to the checkpoint.
OWN = ("fused", "capturable")


def optimizer_state(optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """``state_dict`` with the learning rate as a number, wherever it lies."""
    state = optimizer.state_dict()
    groups = [{**group, "lr": float(group["lr"])} for group in state["param_groups"]]
    return {**state, "param_groups": groups}


def load_optimizer_state(optimizer: torch.optim.Optimizer, state: Mapping[str, Any]) -> None:
    """Takes over ``state``, whatever device it was written on.

    A fused optimiser wants its moments to lie in memory as the weights do; a file knows only one order.
    """
    own = [{name: group[name] for name in OWN} for group in optimizer.param_groups]
    rates = [group["lr"] for group in optimizer.param_groups]
    groups = [{**group, **kept} for group, kept in zip(state["param_groups"], own, strict=True)]
    optimizer.load_state_dict({**state, "param_groups": groups})
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        if isinstance(rate, torch.Tensor):
            # Where a CUDA graph looks for it.
            group["lr"] = rate.fill_(group["lr"])
    for weight, numbers in optimizer.state.items():
        for name, number in numbers.items():
            if number.shape == weight.shape:
                numbers[name] = torch.empty_like(weight).copy_(number)
