"""What a worker says of itself while it works: a few words of shared memory, written by the worker alone.

Every word is 8 bytes and aligned, so the trainer reads each one whole without a lock.
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
    STARTED_NS = 6


WORDS = len(_Word)
STATUS_BYTES = WORDS * 8


@dataclass(frozen=True)
class WorkerStatus:
    """A worker's own figures, and how old they are."""

    state: WorkerState
    plies: int
    slots: int
    version: int
    #: Share of its life that the worker spent playing.
    utilisation: float
    plies_per_second: float
    age_seconds: float


class StatusBoard:
    """One worker's words: the worker writes, the trainer reads."""

    def __init__(self, buffer: memoryview) -> None:
        self._words = np.frombuffer(buffer, np.int64, WORDS)

    def begin(self) -> None:
        """Called by a worker when it starts: forgets what a predecessor wrote."""
        self._words[:] = 0
        self._words[_Word.STARTED_NS] = time.monotonic_ns()
        self.beat()

    def beat(self) -> None:
        """Says: still alive."""
        self._words[_Word.HEARTBEAT_NS] = time.monotonic_ns()

    def enter(self, state: WorkerState) -> None:
        self._words[_Word.STATE] = state
        self.beat()

    def played(self, plies: int, busy_ns: int) -> None:
        self._words[_Word.PLIES] += plies
        self._words[_Word.BUSY_NS] += busy_ns
        self.beat()

    def delivered(self, version: int) -> None:
        self._words[_Word.SLOTS] += 1
        self._words[_Word.VERSION] = version
        self.beat()

    @property
    def heartbeat_age_seconds(self) -> float:
        """Seconds since the last sign of life; the clock is the same in all processes of a machine."""
        return (time.monotonic_ns() - int(self._words[_Word.HEARTBEAT_NS])) * 1e-9

    def read(self) -> WorkerStatus:
        words = self._words.copy()
        lifetime = max(1, time.monotonic_ns() - int(words[_Word.STARTED_NS]))
        busy = int(words[_Word.BUSY_NS])
        return WorkerStatus(
            state=WorkerState(int(words[_Word.STATE])),
            plies=int(words[_Word.PLIES]),
            slots=int(words[_Word.SLOTS]),
            version=int(words[_Word.VERSION]),
            utilisation=busy / lifetime,
            plies_per_second=int(words[_Word.PLIES]) / (busy * 1e-9) if busy else 0.0,
            age_seconds=self.heartbeat_age_seconds,
        )
