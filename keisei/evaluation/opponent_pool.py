"""Frozen earlier versions of the network, to be played against in self-play."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from torch import Tensor

from keisei.core.seating import Tally, closeness_odds

Sampling = Literal["recent", "rating"]

#: By rating, a snapshot keeps its seat until so many whole games are credited to it, or it was drawn so often: a game
#: that changes its opponent midway tells nothing about either.
RESULTS_PER_SEAT = 16
DRAWS_PER_SEAT = 32


@dataclass(frozen=True)
class Snapshot:
    """The weights of one version, on the CPU."""

    version: int
    weights: Mapping[str, Tensor]


class OpponentPool:
    """The newest snapshots: drawn alike (``recent``), or the more often the closer games with them are (``rating``)."""

    def __init__(self, size: int, seed: int, sampling: Sampling = "recent") -> None:
        self._snapshots: deque[Snapshot] = deque(maxlen=size)
        self._random = np.random.default_rng(seed)
        self._sampling = sampling
        self._tallies: dict[int, Tally] = {}
        #: The version drawn last, and how many results and draws it keeps its seat for.
        self._seat = 0
        self._results_left = 0
        self._draws_left = 0

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
        kept = {snapshot.version for snapshot in self._snapshots}
        self._tallies = {known: tally for known, tally in self._tallies.items() if known in kept}

    def draw(self) -> Snapshot | None:
        """One at random, None while the pool is empty."""
        if not self._snapshots:
            return None
        if self._sampling == "recent":
            return self._snapshots[int(self._random.integers(len(self._snapshots)))]
        seated = next((each for each in self._snapshots if each.version == self._seat), None)
        if seated is None or self._results_left <= 0 or self._draws_left <= 0:
            seated = self._draw_by_closeness()
        self._draws_left -= 1
        return seated

    def _draw_by_closeness(self) -> Snapshot:
        tallies = [self._tallies.get(snapshot.version, Tally()) for snapshot in self._snapshots]
        chosen = self._snapshots[int(self._random.choice(len(tallies), p=closeness_odds(tallies)))]
        self._seat = chosen.version
        self._results_left, self._draws_left = RESULTS_PER_SEAT, DRAWS_PER_SEAT
        return chosen

    def note_result(self, version: int, points: float) -> None:
        """Credits the learner's points (1, ½ or 0) in a game that one version played to the end."""
        if any(snapshot.version == version for snapshot in self._snapshots):
            self._tallies.setdefault(version, Tally()).note(points)
        if version == self._seat:
            self._results_left -= 1

    # ---- state

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

    def state(self) -> dict[str, Any]:
        """Results and the seat, beside the tensors and the generator."""
        return {
            "tallies": {version: (tally.points, tally.games) for version, tally in self._tallies.items()},
            "seat": (self._seat, self._results_left, self._draws_left),
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        self._tallies = {int(version): Tally(*tally) for version, tally in state["tallies"].items()}
        self._seat, self._results_left, self._draws_left = state["seat"]
