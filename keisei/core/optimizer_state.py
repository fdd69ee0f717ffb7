"""An optimiser's state from a checkpoint, as the device of this run wants it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch


def load_optimizer_state(optimizer: torch.optim.Optimizer, state: Mapping[str, Any]) -> None:
    """Takes over ``state``, whatever device it was written on.

    A fused optimiser belongs to the device and not to the checkpoint, and it wants its moments to lie in memory as the
    weights do; a file knows only one order.
    """
    fused = optimizer.param_groups[0]["fused"]
    groups = [{**group, "fused": fused} for group in state["param_groups"]]
    optimizer.load_state_dict({**state, "param_groups": groups})
    for weight, numbers in optimizer.state.items():
        for name, number in numbers.items():
            if number.shape == weight.shape:
                numbers[name] = torch.empty_like(weight).copy_(number)
