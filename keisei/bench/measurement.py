"""What is measured, for how long, and what comes back."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from time import perf_counter
from typing import Protocol


class Workload(StrEnum):
    """A kind of work that several engines can do; the value names the figure in tables."""

    PERFT = "perft from the start"
    MOVE_LISTS = "random play with legal lists"
    PLANES = "random play with planes and mask"
    UNPACK_PLANES = "records to planes"
    UNPACK_LEGAL = "records to legal lists"

    @property
    def unit(self) -> str:
        units = {Workload.PERFT: "nodes/s", Workload.MOVE_LISTS: "plies/s", Workload.PLANES: "plies/s"}
        return units.get(self, "records/s")


@dataclass(frozen=True)
class Budget:
    """How much work one measurement may do."""

    seconds: float = 2.0
    perft_depth: int = 5
    seed: int = 0
    num_threads: int = 1
    num_games: int = 256


@dataclass(frozen=True)
class Measurement:
    """So much was done in so many seconds."""

    amount: int
    seconds: float

    @property
    def rate(self) -> float:
        return self.amount / self.seconds


Work = Callable[[Budget], Measurement]


class Contestant(Protocol):
    """An engine in the benchmark. Instances hold no state: they travel to a child process."""

    name: str

    def available(self) -> str | None:
        """None when it can be measured here, otherwise what to install."""

    def workloads(self) -> Mapping[Workload, Work]: ...


def missing(module: str, package: str) -> str | None:
    """The answer of ``available`` for a contestant that is a Python package."""
    return None if importlib.util.find_spec(module) is not None else f"pip install {package}"


def measure_for(seconds: float, step: Callable[[], int]) -> Measurement:
    """Repeat ``step``, which returns how much it did, at least once and until the time is over."""
    start = perf_counter()
    amount = step()
    while (elapsed := perf_counter() - start) < seconds:
        amount += step()
    return Measurement(amount, elapsed)
