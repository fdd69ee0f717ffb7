"""When a worker is taken for dead, and how often and how soon it is replaced."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable

from keisei.training.parallel.worker_status import StatusBoard, WorkerState

#: A worker that dies again before it delivered anything waits this long, doubled each time.
FIRST_DELAY_SECONDS = 0.2
LONGEST_DELAY_SECONDS = 10.0


class Watchman:
    """Tells a hung worker from a trainer that was away itself: learning, or stopped with Ctrl-Z like its workers."""

    def __init__(
        self,
        patience_seconds: float,
        start_patience_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.patience_seconds = patience_seconds
        self._start_patience_seconds = start_patience_seconds
        self._clock = clock
        self._last_look = self._watching_since = clock()

    def look(self) -> None:
        """Called again and again while the trainer waits for rows."""
        now = self._clock()
        if now - self._last_look > self.patience_seconds / 2:
            self._watching_since = now
        self._last_look = now

    def is_hung(self, status: StatusBoard) -> bool:
        """Whether a worker has been silent for too long; one that starts gives no signs, and gets more time."""
        starting = status.state is WorkerState.STARTING
        patience = self._start_patience_seconds if starting else self.patience_seconds
        return min(status.heartbeat_age_seconds, self._last_look - self._watching_since) > patience


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
        delay = min(FIRST_DELAY_SECONDS * 2 ** self._fruitless[worker], LONGEST_DELAY_SECONDS)
        self._not_before[worker] = now + delay
        self._fruitless[worker] += 1
        return 0.0
