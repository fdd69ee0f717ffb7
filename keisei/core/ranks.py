"""The processes that learn together, one to a GPU, and all that they say to each other.

Every rank must make the same calls in the same order. A call gives every rank the same bits, so what is decided by its
answer is decided alike everywhere. A rank that is gone or silent is an error for the others, never an endless wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor

from keisei.core.rank_place import RankPlace
from keisei.errors import RankLostError, first_line

#: Longest wait for another rank: more than compiling and a checkpoint on a slow disk take.
PATIENCE_SECONDS = 600.0
#: Tensors on a CPU go by the first, those on a GPU by the second.
BOTH_BACKENDS = "cpu:gloo,cuda:nccl"

Value = TypeVar("Value")


@dataclass(frozen=True)
class Ranks:
    """What the ranks agree on. One process alone agrees with itself, at no cost."""

    place: RankPlace

    @property
    def count(self) -> int:
        return self.place.count

    @property
    def is_alone(self) -> bool:
        return self.place.is_alone

    @property
    def is_first(self) -> bool:
        return self.place.is_first

    # ---- tensors

    def add_up(self, numbers: Tensor) -> Tensor:
        """The sum of a tensor over all ranks."""
        if self.is_alone:
            return numbers
        total = numbers.clone()
        with self._nobody_lost():
            dist.all_reduce(total)
        return total

    def add_up_array(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.add_up(torch.from_numpy(numbers)).numpy()

    def add_up_gradients(self, parameters: Iterable[Tensor], numbers: Tensor) -> Tensor:
        """Replaces each gradient by its sum over all ranks; returns the sums of ``numbers`` [K]. One message."""
        if self.is_alone:
            return numbers
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        message = torch.cat([*(gradient.flatten() for gradient in gradients), numbers])
        with self._nobody_lost():
            dist.all_reduce(message)
        start = 0
        for gradient in gradients:
            end = start + gradient.numel()
            gradient.copy_(message[start:end].view(gradient.shape))
            start = end
        return message[start:]

    # ---- decisions

    def any(self, flag: bool) -> bool:
        """Whether any rank says yes."""
        return flag if self.is_alone else bool(self._reduced(int(flag), dist.ReduceOp.MAX))

    def least(self, number: int) -> int:
        return number if self.is_alone else self._reduced(number, dist.ReduceOp.MIN)

    def _reduced(self, number: int, operation: dist.ReduceOp.RedOpType) -> int:
        agreed = torch.tensor(number)
        with self._nobody_lost():
            dist.all_reduce(agreed, operation)
        return int(agreed)

    # ---- objects

    def gathered(self, value: Value) -> list[Value]:
        """What each rank has, in the order of the ranks."""
        if self.is_alone:
            return [value]
        values: list[Value] = [value] * self.count
        with self._nobody_lost():
            dist.all_gather_object(values, value)
        return values

    def told(self, value: Value) -> Value:
        """What the first rank has; what the others pass is not looked at."""
        if self.is_alone:
            return value
        message = [value]
        with self._nobody_lost():
            dist.broadcast_object_list(message, src=0)
        return message[0]

    # ---- belonging

    def leave(self) -> None:
        """Nothing more is agreed on. A second call does nothing."""
        if not self.is_alone and dist.is_initialized():
            dist.destroy_process_group()

    @contextmanager
    def _nobody_lost(self) -> Iterator[None]:
        try:
            yield
        # torch has no class of its own for a peer that is gone: gloo raises plain RuntimeErrors.
        except RuntimeError as error:
            raise RankLostError(
                f"rank {self.place.rank} of {self.count} has lost another rank ({first_line(error)}); the first "
                "error above tells why: then go on with `--resume auto`"
            ) from error


#: The one process of an ordinary run.
ALONE = Ranks(RankPlace())


@contextmanager
def joined_ranks(
    place: RankPlace, *, timeout_seconds: float = PATIENCE_SECONDS, meeting_point: str = "env://"
) -> Iterator[Ranks]:
    """All ranks, as soon as they have met; they part at the end of the ``with`` block."""
    ranks = Ranks(place)
    if ranks.is_alone:
        yield ranks
        return
    has_gpus = torch.cuda.is_available() and dist.is_nccl_available()
    if has_gpus and place.local_rank < torch.cuda.device_count():
        # Streams, events and NCCL belong to the current device, which would be the first for every rank.
        torch.cuda.set_device(place.local_rank)
    with ranks._nobody_lost():
        dist.init_process_group(
            BOTH_BACKENDS if has_gpus else dist.Backend.GLOO,
            init_method=meeting_point,
            rank=place.rank,
            world_size=place.count,
            timeout=timedelta(seconds=timeout_seconds),
        )
    try:
        yield ranks
    finally:
        ranks.leave()
