"""Numbers read from a device one step late, so that it never waits for the reader."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

import torch
from torch import Tensor

Label = TypeVar("Label")


class LateNumbers(Generic[Label]):
    """Small float32 tensors ``[K]`` in the order of their making, each with a label; on a CPU nothing is late."""

    def __init__(self, device: torch.device) -> None:
        self._is_card = device.type == "cuda"
        self._waiting: deque[tuple[Tensor, torch.cuda.Event | None, Label]] = deque()

    def add(self, numbers: Tensor, label: Label) -> None:
        if not self._is_card:
            self._waiting.append((numbers, None, label))
            return
        copied = torch.empty(numbers.shape, dtype=numbers.dtype, pin_memory=True)
        copied.copy_(numbers, non_blocking=True)
        event = torch.cuda.Event()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        event.record()
        self._waiting.append((copied, event, label))

    def due(self) -> Iterator[tuple[list[float], Label]]:
        """All but the last on a GPU, all on a CPU."""
        yield from self._read(leave=1 if self._is_card else 0)

    def rest(self) -> Iterator[tuple[list[float], Label]]:
        """All that is left, waited for."""
        yield from self._read(leave=0)

    def _read(self, *, leave: int) -> Iterator[tuple[list[float], Label]]:
        while len(self._waiting) > leave:
            numbers, event, label = self._waiting.popleft()
            if event is not None:
                event.synchronize()
            yield numbers.tolist(), label
