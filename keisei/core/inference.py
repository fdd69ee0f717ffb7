"""Asking a network about positions: the one path from packed records to policies and values.

Play, evaluation and learning all prepare their inputs here, so that they see the same numbers.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from keisei.core.device_positions import PositionTables
from keisei.core.freed_memory import keep_freed_memory
from keisei.core.networks import ActorCritic, NetworkOutput
from keisei.core.ppo_loss import masked_log_probs
from keisei.shogi.positions import LegalActions, legal_masks, masks_from_lists, unpack_planes

PRECISIONS = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


class Evaluation(NamedTuple):
    """What a network says about B positions, each in the mover's view, on the network's device."""

    log_probs: Tensor  # float32 [B, A], hugely negative on illegal actions
    value: Tensor  # float32 [B], P(win) - P(loss)


class Inference:
    """A network with the device and the number type of its arithmetic."""

    def __init__(
        self, network: ActorCritic, *, device: torch.device, precision: str, num_threads: int = 1
    ) -> None:
        self.network = network
        self.device = device
        self.dtype = PRECISIONS[precision]
        self.tables = PositionTables.on(device, self.dtype)
        self._num_threads = num_threads
        if device.type == "cpu":
            keep_freed_memory()

    @property
    def num_actions(self) -> int:
        return self.network.num_actions

    def planes(self, records: NDArray[np.uint8]) -> Tensor:
        """float32 [B, 46, 9, 9] on the device, from packed records uint8 [B, 96]."""
        planes = unpack_planes(np.ascontiguousarray(records), num_threads=self._num_threads)
        return torch.from_numpy(planes).to(self.device, non_blocking=True)

    def legal(self, records: NDArray[np.uint8], lists: LegalActions | None = None) -> Tensor:
        """bool [B, A] on the device; from the lists where they are known, else generated again."""
        if lists is None:
            masks = legal_masks(
                np.ascontiguousarray(records), self.num_actions, num_threads=self._num_threads
            )
        else:
            masks = masks_from_lists(lists, self.num_actions, num_threads=self._num_threads)
        return torch.from_numpy(masks).to(self.device, non_blocking=True)

    def autocast(self) -> AbstractContextManager[object]:
        """The context in which the network computes; nothing at all in fp32."""
        if self.dtype is torch.float32:
            return nullcontext()
        return torch.autocast(self.device.type, dtype=self.dtype)

    def forward(self, planes: Tensor, *, with_auxiliary: bool) -> NetworkOutput:
        with self.autocast():
            return self.network(planes, with_auxiliary=with_auxiliary)

    @torch.no_grad()
    def evaluate(self, records: NDArray[np.uint8], lists: LegalActions | None = None) -> Evaluation:
        """Policy among the legal actions, and value, of packed positions."""
        output = self.forward(self.planes(records), with_auxiliary=False)
        return Evaluation(masked_log_probs(output.policy_logits, self.legal(records, lists)), output.value)

    @torch.no_grad()
    def values(self, records: NDArray[np.uint8]) -> NDArray[np.float32]:
        """float32 [B]: P(win) - P(loss) of each mover."""
        if self.device.type == "cuda":
            padded = np.zeros((_next_power_of_two(len(records)), *records.shape[1:]), records.dtype)
            padded[: len(records)] = records
        else:
            padded = records
        output = self.forward(self.planes(padded), with_auxiliary=False)
        return output.value[: len(records)].cpu().numpy()


def _next_power_of_two(count: int) -> int:
    """For each size of batch that it meets, a GPU's library looks for the fastest kernels: let there be few of them."""
    return 1 << max(0, count - 1).bit_length()
