"""Contestants that misbehave; in a module of their own so that a child process can import them."""

import os
from collections.abc import Mapping
from threading import Event

from keisei.bench.measurement import Budget, Measurement, Work, Workload


class _Bad:
    name = "bad"

    def available(self) -> str | None:
        return None

    def workloads(self) -> Mapping[Workload, Work]:
        return {Workload.PERFT: self.perft}

    def perft(self, budget: Budget) -> Measurement:
        raise NotImplementedError


class Stuck(_Bad):
    def perft(self, budget: Budget) -> Measurement:
        Event().wait()
        return Measurement(0, 1.0)


class Dies(_Bad):
    def perft(self, budget: Budget) -> Measurement:
        os._exit(3)


class Raises(_Bad):
    def perft(self, budget: Budget) -> Measurement:
        raise ArithmeticError("no nodes today")


class Absent(_Bad):
    name = "absent"

    def available(self) -> str | None:
        return "pip install absent"


class Even(_Bad):
    """Well behaved, to be compared with: 1,000 nodes in every second."""

    name = "cshogi"

    def perft(self, budget: Budget) -> Measurement:
        return Measurement(2_000, 2.0)
