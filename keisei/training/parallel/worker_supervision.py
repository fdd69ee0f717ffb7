"""When a worker is taken for dead, and how often and how soon it is replaced."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable
from typing import NamedTuple

import psutil

from keisei.training.parallel.worker_status import StatusBoard, WorkerState

#: Restarts of a worker that dies again before it delivered anything are this far apart, doubled each time.
FIRST_DELAY_SECONDS = 0.2
MOST_DOUBLINGS = 6


class _Progress(NamedTuple):
    """The computing time of a process, and when it was first seen to be so much."""

    pid: int
    cpu_seconds: float
    since: float


def cpu_seconds(pid: int) -> float:
    """Computing time that a process has used; 0 when it is gone."""
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system)


class Watchman:
    """Tells a hung worker from a trainer that was away itself: learning, or stopped with Ctrl-Z like its workers."""

    def __init__(self, patience_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.patience_seconds = patience_seconds
        self._clock = clock
        self._last_look = self._watching_since = clock()
        self._starts: dict[int, _Progress] = {}

    def look(self) -> None:
        """Called again and again while the trainer waits for rows."""
        now = self._clock()
        if now - self._last_look > self.patience_seconds / 2:
            self._watching_since = now
        self._last_look = now

    def is_hung(self, worker: int, pid: int, status: StatusBoard) -> bool:
        """Whether a worker has been silent for too long."""
        starting = status.state is WorkerState.STARTING
        silence = self._start_silence(worker, pid) if starting else status.heartbeat_age_seconds
        return min(silence, self._last_look - self._watching_since) > self.patience_seconds

    def _start_silence(self, worker: int, pid: int) -> float:
        """A worker cannot give signs while it imports PyTorch, however long that takes: that it computes must do."""
        last, used = self._starts.get(worker), cpu_seconds(pid)
        if last is None or last.pid != pid or last.cpu_seconds < used:
            last = self._starts[worker] = _Progress(pid, used, self._last_look)
        return self._last_look - last.since


class RestartBudget:
    """At most so many restarts of one worker within a window; ever longer pauses while none of them helps."""

    def __init__(
        self, restarts: int, window_seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.restarts = restarts
        self.window_seconds = window_seconds
        self._clock = clock
        self._times: defaultdict[int, deque[float]] = defaultdict(deque)
        self._fruitless: defaultdict[int, int] = defaultdict(int)
        self._not_before: defaultdict[int, float] = defaultdict(float)
        self._delivered: set[int] = set()

    def delivered(self, worker: int) -> None:
        """The worker has done its job: the next death is a new story."""
        self._delivered.add(worker)
        self._fruitless[worker] = 0
        self._not_before[worker] = 0.0

    def has_delivered(self, worker: int) -> bool:
        return worker in self._delivered

    def allow(self, worker: int) -> float | None:
        """Seconds to wait before a restart: 0 is now (and counts as one), None is never again."""
        now = self._clock()
        times = self._times[worker]
        while times and times[0] <= now - self.window_seconds:
            times.popleft()
        if len(times) >= self.restarts:
            return None
        if now < self._not_before[worker]:
            return self._not_before[worker] - now
        times.append(now)
        doublings = min(self._fruitless[worker], MOST_DOUBLINGS)
        self._not_before[worker] = now + FIRST_DELAY_SECONDS * 2**doublings
        self._fruitless[worker] += 1
        return 0.0
