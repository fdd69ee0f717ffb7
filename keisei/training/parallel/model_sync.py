"""Door 2: weights from the trainer to the workers: versioned, latest wins, nobody locks.

Two buffers take turns. The writer fills the one that readers are not directed to, then publishes its version; a reader
that was overtaken while it copied sees that the version has moved on and copies again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from keisei.errors import WorkerFailedError
from keisei.training.parallel.shared_memory import SharedRegion, new_region
from keisei.training.parallel.weights_layout import WeightsLayout

HEADER_BYTES = 64
BUFFERS = 2


class WeightsReader(Protocol):
    """Where a worker gets its weights from. Another transport gives it another one of these."""

    def fetch(self, into: Mapping[str, Tensor], newer_than: int) -> int | None:
        """Copies the newest weights if there are newer ones; returns their version. Older ones are never read."""
        ...


class ModelSynchronizer:
    """Publishes weights (trainer) and picks up the newest ones (worker).

    The trainer makes it from any state_dict of the right shapes; workers get it as an argument of their process.
    """

    def __init__(self, weights: Mapping[str, Tensor], *, anonymous: bool | None = None) -> None:
        layout = WeightsLayout.of(weights)
        self._attach(layout, new_region(HEADER_BYTES + BUFFERS * layout.nbytes, anonymous=anonymous))

    def _attach(self, layout: WeightsLayout, region: SharedRegion) -> None:
        self._layout = layout
        self._region = region
        # Word 0 counts publications; its lowest bit says where the newest lies. Then a version for each buffer.
        self._words: NDArray[np.int64] = np.frombuffer(region.buffer, np.int64, 1 + BUFFERS)
        self._buffers = [
            region.buffer[HEADER_BYTES + i * layout.nbytes :][: layout.nbytes] for i in range(BUFFERS)
        ]
        self._tensors = [layout.tensors(buffer) for buffer in self._buffers]
        self.syncs = 0
        self.sync_seconds = 0.0

    def __reduce__(self) -> tuple[Any, ...]:
        return _attached, (self._layout, self._region)

    @property
    def version(self) -> int:
        """The newest published version; 0 before the first."""
        return int(self._words[1 + int(self._words[0]) % BUFFERS])

    def publish(self, weights: Mapping[str, Tensor], version: int) -> None:
        """Makes weights available to all workers. Versions only grow."""
        if version <= self.version:
            raise WorkerFailedError(
                f"weights of version {version!r} cannot follow version {self.version!r}; versions only grow"
            )
        began = time.perf_counter()
        publication = int(self._words[0]) + 1
        self._layout.write(weights, self._buffers[publication % BUFFERS])
        self._words[1 + publication % BUFFERS] = version
        _fence()
        self._words[0] = publication
        self.syncs += 1
        self.sync_seconds += time.perf_counter() - began

    def fetch(self, into: Mapping[str, Tensor], newer_than: int) -> int | None:
        while True:
            publication = int(self._words[0])
            _fence()
            version = int(self._words[1 + publication % BUFFERS])
            if version <= newer_than:
                return None
            with torch.no_grad():
                for name, tensor in self._tensors[publication % BUFFERS].items():
                    into[name].copy_(tensor)
            _fence()
            # The buffer is written again only after another publication: without one, the copy is whole.
            if int(self._words[0]) == publication:
                return version

    def close(self) -> None:
        """Lets go of the memory."""
        self._tensors.clear()
        self._buffers.clear()
        del self._words
        self._region.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _attached(layout: WeightsLayout, region: SharedRegion) -> ModelSynchronizer:
    synchronizer = ModelSynchronizer.__new__(ModelSynchronizer)
    synchronizer._attach(layout, region)
    return synchronizer


_fence_lock = threading.Lock()


def _fence() -> None:
    """Keeps the processor from moving reads and writes across, which not only x86 would have to promise.

    The lock is private to the process. Memory accesses may sink into one locked section, but not through two.
    """
    for _ in range(2):
        with _fence_lock:
            pass
