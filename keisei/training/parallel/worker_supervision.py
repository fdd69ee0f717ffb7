"""How often, and how soon, a dead worker is replaced."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable

#: A worker that dies again before it delivered anything waits this long, doubled each time.
FIRST_DELAY_SECONDS = 0.2
LONGEST_DELAY_SECONDS = 10.0


class RestartBudget:
    """At most so many restarts of one worker within a window; ever longer pauses while none of them helps."""

    def __init__(
        self, restarts: int, window_seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._restarts = restarts
        self._window_seconds = window_seconds
        self._clock = clock
        self._times: defaultdict[int, deque[float]] = defaultdict(deque)
        self._fruitless: defaultdict[int, int] = defaultdict(int)
        self._not_before: defaultdict[int, float] = defaultdict(float)
        self._delivered: set[int] = set()

    def delivered(self, worker: int) -> None:
        """The worker has done its job: the next death is a new story."""
        self._delivered.add(worker)
        self._fruitless[worker] = 0

    def has_delivered(self, worker: int) -> bool:
        return worker in self._delivered

    def allow(self, worker: int) -> float | None:
        """Seconds to wait before a restart: 0 is now (and counts as one), None is never again."""
        now = self._clock()
        times = self._times[worker]
        while times and times[0] <= now - self._window_seconds:
            times.popleft()
        if len(times) >= self._restarts:
            return None
        if now < self._not_before[worker]:
            return self._not_before[worker] - now
        times.append(now)
        delay = min(FIRST_DELAY_SECONDS * 2 ** self._fruitless[worker], LONGEST_DELAY_SECONDS)
        self._not_before[worker] = now + delay
        self._fruitless[worker] += 1
        return 0.0
