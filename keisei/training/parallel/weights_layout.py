"""Where each tensor of a network lies in one block of bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

from keisei.errors import WorkerFailedError

#: Tensors start on a cache line.
ALIGNMENT = 64


@dataclass(frozen=True)
class WeightsLayout:
    """Shapes, types and offsets by name; equal at both ends of a link."""

    shapes: Mapping[str, torch.Size]
    dtypes: Mapping[str, torch.dtype]
    offsets: Mapping[str, int]
    nbytes: int

    @classmethod
    def of(cls, weights: Mapping[str, Tensor]) -> Self:
        offsets: dict[str, int] = {}
        position = 0
        for name, tensor in weights.items():
            offsets[name] = position
            position += -(-tensor.nbytes // ALIGNMENT) * ALIGNMENT
        return cls(
            {name: tensor.shape for name, tensor in weights.items()},
            {name: tensor.dtype for name, tensor in weights.items()},
            offsets,
            position,
        )

    def check(self, weights: Mapping[str, Tensor]) -> None:
        """Refuses weights of another network."""
        if weights.keys() != self.shapes.keys():
            odd = sorted(weights.keys() ^ self.shapes.keys())
            raise WorkerFailedError(
                f"these weights are of another network: only one of the two has {odd[0]!r}"
            )
        for name, tensor in weights.items():
            if tensor.shape != self.shapes[name] or tensor.dtype != self.dtypes[name]:
                raise WorkerFailedError(
                    f"expected the weights {name!r} as {self.dtypes[name]} {tuple(self.shapes[name])}, "
                    f"got {tensor.dtype} {tuple(tensor.shape)}; publish the network that the workers were given"
                )

    def write(self, weights: Mapping[str, Tensor], buffer: memoryview) -> None:
        """Copies weights into a buffer, from whatever device they are on."""
        self.check(weights)
        target = np.frombuffer(buffer, np.uint8)
        for name, tensor in weights.items():
            # Through numpy: torch copies with threads, which on a busy machine wait for each other for milliseconds.
            content = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
            target[self.offsets[name] : self.offsets[name] + len(content)] = content

    def tensors(self, buffer: memoryview) -> dict[str, Tensor]:
        """The tensors that lie in a buffer, in place."""
        result: dict[str, Tensor] = {}
        for name, shape in self.shapes.items():
            if shape.numel() == 0:
                result[name] = torch.empty(shape, dtype=self.dtypes[name])
                continue
            flat = torch.frombuffer(
                buffer, dtype=self.dtypes[name], count=shape.numel(), offset=self.offsets[name]
            )
            result[name] = flat.reshape(shape)
        return result
