"""Frozen earlier versions of the network, to be played against in self-play."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from torch import Tensor


@dataclass(frozen=True)
class Snapshot:
    """The weights of one version, on the CPU."""

    version: int
    weights: Mapping[str, Tensor]


class OpponentPool:
    """The newest snapshots, drawn from at random."""

    def __init__(self, size: int, seed: int) -> None:
        self._snapshots: deque[Snapshot] = deque(maxlen=size)
        self._random = np.random.default_rng(seed)

    def __len__(self) -> int:
        return len(self._snapshots)

    @property
    def generator(self) -> np.random.Generator:
        return self._random

    @property
    def snapshots(self) -> tuple[Snapshot, ...]:
        return tuple(self._snapshots)

    def add(self, version: int, weights: Mapping[str, Tensor]) -> None:
        """Freezes a copy; the oldest leaves when the pool is full."""
        copy = {name: tensor.detach().cpu().clone() for name, tensor in weights.items()}
        self._snapshots.append(Snapshot(version, copy))

    def draw(self) -> Snapshot | None:
        """One at random, None while the pool is empty."""
        if not self._snapshots:
            return None
        return self._snapshots[int(self._random.integers(len(self._snapshots)))]

    def tensors(self) -> dict[str, Tensor]:
        """All snapshots as named tensors, for a checkpoint."""
        return {
            f"{snapshot.version}/{name}": tensor
            for snapshot in self._snapshots
            for name, tensor in snapshot.weights.items()
        }

    def load_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        """Puts back what `tensors` gave."""
        versions: dict[int, dict[str, Tensor]] = {}
        for name, tensor in tensors.items():
            version, _, weight = name.partition("/")
            versions.setdefault(int(version), {})[weight] = tensor
        self._snapshots.clear()
        self._snapshots.extend(Snapshot(version, versions[version]) for version in sorted(versions))
