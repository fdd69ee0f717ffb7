"""What a worker says of itself while it works: a few words of shared memory, written by the worker alone.

Every word is 8 bytes and aligned, so the trainer reads each one whole without a lock. They outlive the worker: what it
had played when it died is known.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import IntEnum

import numpy as np


class WorkerState(IntEnum):
    STARTING = 0
    WAITING_FOR_WEIGHTS = 1
    WAITING_FOR_SLOT = 2
    PLAYING = 3
    PAUSED = 4
    STOPPED = 5


class _Word(IntEnum):
    HEARTBEAT_NS = 0
    STATE = 1
    PLIES = 2
    SLOTS = 3
    VERSION = 4
    BUSY_NS = 5
    READY_NS = 6


WORDS = len(_Word)
STATUS_BYTES = WORDS * 8


@dataclass(frozen=True)
class WorkerStatus:
    """A worker's own figures, and how old they are."""

    state: WorkerState
    #: Plies that it played and did not throw away again.
    plies: int
    slots: int
    version: int
    #: Share of its life, from when it was ready, that it spent playing.
    utilisation: float
    #: While it plays.
    plies_per_second: float
    age_seconds: float


class StatusBoard:
    """One worker's words: the worker writes, the trainer reads."""

    def __init__(self, buffer: memoryview) -> None:
        self._words = np.frombuffer(buffer, np.int64, WORDS)

    def begin(self) -> None:
        """Called by the trainer before a worker starts: forgets what a predecessor wrote."""
        self._words[:] = 0
        self.beat()

    def ready(self) -> None:
        """The worker has built all it needs."""
        self._words[_Word.READY_NS] = time.monotonic_ns()
        self.enter(WorkerState.WAITING_FOR_SLOT)

    def beat(self) -> None:
        """Says: still alive."""
        self._words[_Word.HEARTBEAT_NS] = time.monotonic_ns()

    def enter(self, state: WorkerState) -> None:
        self._words[_Word.STATE] = state
        self.beat()

    def uses(self, version: int) -> None:
        self._words[_Word.VERSION] = version

    def played(self, plies: int, busy_ns: int) -> None:
        """Plies were played, or (negative) thrown away again."""
        self._words[_Word.PLIES] += plies
        self._words[_Word.BUSY_NS] += busy_ns
        self.beat()

    def delivered(self) -> None:
        self._words[_Word.SLOTS] += 1

    @property
    def state(self) -> WorkerState:
        return WorkerState(int(self._words[_Word.STATE]))

    @property
    def plies(self) -> int:
        return int(self._words[_Word.PLIES])

    @property
    def slots(self) -> int:
        return int(self._words[_Word.SLOTS])

    @property
    def heartbeat_age_seconds(self) -> float:
        """Seconds since the last sign of life; the clock is the same in all processes of a machine."""
        return (time.monotonic_ns() - int(self._words[_Word.HEARTBEAT_NS])) * 1e-9

    def read(self) -> WorkerStatus:
        ready_ns, busy_ns = int(self._words[_Word.READY_NS]), int(self._words[_Word.BUSY_NS])
        lifetime_ns = time.monotonic_ns() - ready_ns if ready_ns else 0
        return WorkerStatus(
            state=self.state,
            plies=self.plies,
            slots=self.slots,
            version=int(self._words[_Word.VERSION]),
            utilisation=min(1.0, busy_ns / lifetime_ns) if lifetime_ns else 0.0,
            plies_per_second=self.plies / (busy_ns * 1e-9) if busy_ns else 0.0,
            age_seconds=self.heartbeat_age_seconds,
        )
