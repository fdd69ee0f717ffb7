"""Weights from the trainer to the workers: versioned, latest wins, nobody locks.

Two buffers take turns. The writer fills the one that readers are not directed to, then publishes its version; a reader
that was overtaken while it copied sees that the version has moved on and copies again.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from keisei.errors import WorkerFailedError
from keisei.training.parallel.shared_memory import SharedRegion

HEADER_BYTES = 64
BUFFERS = 2
#: Fast enough to be worth it on a slow link; weights compress by a tenth at best.
COMPRESSION_LEVEL = 1


@dataclass(frozen=True)
class Layout:
    """Where each tensor lies in a buffer."""

    shapes: Mapping[str, tuple[int, ...]]
    dtypes: Mapping[str, torch.dtype]
    offsets: Mapping[str, int]
    nbytes: int

    @classmethod
    def of(cls, weights: Mapping[str, Tensor]) -> Self:
        offsets: dict[str, int] = {}
        position = 0
        for name, tensor in weights.items():
            offsets[name] = position
            position += -(-tensor.numel() * tensor.element_size() // HEADER_BYTES) * HEADER_BYTES
        return cls(
            {name: tuple(tensor.shape) for name, tensor in weights.items()},
            {name: tensor.dtype for name, tensor in weights.items()},
            offsets,
            position,
        )

    def tensors(self, buffer: memoryview) -> dict[str, Tensor]:
        """The tensors of a buffer, in place."""
        result: dict[str, Tensor] = {}
        for name, shape in self.shapes.items():
            count = int(np.prod(shape, dtype=np.int64))
            if count == 0:
                result[name] = torch.empty(shape, dtype=self.dtypes[name])
                continue
            flat = torch.frombuffer(buffer, dtype=self.dtypes[name], count=count, offset=self.offsets[name])
            result[name] = flat.reshape(shape)
        return result


class ModelSynchronizer:
    """Publishes weights (trainer) and picks up the newest ones (worker).

    The trainer makes it from any state_dict of the right shapes; workers get it as an argument of their process.
    """

    def __init__(self, weights: Mapping[str, Tensor], *, anonymous: bool | None = None) -> None:
        self._layout = Layout.of(weights)
        self._region = SharedRegion(HEADER_BYTES + BUFFERS * max(1, self._layout.nbytes), anonymous=anonymous)
        self._map()
        self.sync_seconds = 0.0
        self.syncs = 0

    def _map(self) -> None:
        # Word 0 counts publications; its lowest bit says where the newest lies. Then a version for each buffer.
        self._words: NDArray[np.int64] = np.frombuffer(self._region.buffer, np.int64, 1 + BUFFERS)
        self._buffers = [
            self._layout.tensors(
                self._region.buffer[HEADER_BYTES + i * self._layout.nbytes :][: self._layout.nbytes]
            )
            for i in range(BUFFERS)
        ]

    def __reduce__(self) -> tuple[Any, ...]:
        return _attach, (self._layout, self._region)

    @property
    def version(self) -> int:
        """The newest published version; 0 before the first."""
        publications = int(self._words[0])
        return int(self._words[1 + publications % BUFFERS])

    def publish(self, weights: Mapping[str, Tensor], version: int) -> None:
        """Makes weights available to all workers. Versions only grow."""
        if version <= self.version:
            raise WorkerFailedError(f"weights of version {version!r} cannot follow version {self.version!r}")
        began = time.perf_counter()
        publication = int(self._words[0]) + 1
        target = self._buffers[publication % BUFFERS]
        with torch.no_grad():
            for name, tensor in weights.items():
                target[name].copy_(tensor)
        self._words[1 + publication % BUFFERS] = version
        self._words[0] = publication
        self.sync_seconds += time.perf_counter() - began
        self.syncs += 1

    def fetch(self, into: Mapping[str, Tensor], newer_than: int) -> int | None:
        """Copies the newest weights if there are newer ones; returns their version. Older ones are never read."""
        while True:
            publication = int(self._words[0])
            version = int(self._words[1 + publication % BUFFERS])
            if version <= newer_than:
                return None
            with torch.no_grad():
                for name, tensor in self._buffers[publication % BUFFERS].items():
                    into[name].copy_(tensor)
            # The buffer is written again only after another publication: without one, the copy is whole.
            if int(self._words[0]) == publication:
                return version

    def close(self) -> None:
        """Lets go of the memory."""
        self._buffers.clear()
        del self._words
        self._region.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _attach(layout: Layout, region: SharedRegion) -> ModelSynchronizer:
    synchronizer = ModelSynchronizer.__new__(ModelSynchronizer)
    synchronizer._layout = layout
    synchronizer._region = region
    synchronizer.sync_seconds = 0.0
    synchronizer.syncs = 0
    synchronizer._map()
    return synchronizer


def compress_weights(weights: Mapping[str, Tensor]) -> bytes:
    """Weights as one compressed stream, for links on which memory is not shared."""
    layout = Layout.of(weights)
    plain = bytearray(layout.nbytes)
    for name, tensor in layout.tensors(memoryview(plain)).items():
        tensor.copy_(weights[name])
    return zlib.compress(plain, COMPRESSION_LEVEL)


def decompress_weights(stream: bytes, layout: Layout) -> dict[str, Tensor]:
    """The weights that `compress_weights` was given."""
    plain = bytearray(zlib.decompress(stream))
    if len(plain) != layout.nbytes:
        raise WorkerFailedError(f"a weights stream holds {len(plain)} bytes instead of {layout.nbytes}")
    return layout.tensors(memoryview(plain))
