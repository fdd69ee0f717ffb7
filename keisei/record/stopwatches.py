"""Stopwatches on an injectable monotonic clock: seconds by phase, and speed over a sliding window."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

Clock = Callable[[], float]

OTHER_PHASE = "other"


class PhaseTimers:
    """Seconds by phase. Exactly one phase runs at any moment, so the sums equal the wall time.

    A phase inside a phase stops the outer one's watch; time outside every phase is ``other``.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._seconds: dict[str, float] = {OTHER_PHASE: 0.0}
        self._current = OTHER_PHASE
        self._since = clock()
        self._lap_start = dict(self._seconds)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Charge the time of the ``with`` block to ``name``.

        The outer phase goes on afterwards, error or not.
        """
        outer = self._switch_to(name)
        try:
            yield
        finally:
            self._switch_to(outer)

    def _switch_to(self, name: str) -> str:
        self._charge()
        outer, self._current = self._current, name
        return outer

    def _charge(self) -> None:
        now = self._clock()
        self._seconds[self._current] = self._seconds.get(self._current, 0.0) + now - self._since
        self._since = now

    def seconds(self) -> dict[str, float]:
        """Seconds by phase up to now; the phase that is running counts too."""
        self._charge()
        return dict(self._seconds)

    def lap(self) -> dict[str, float]:
        """Seconds by phase since the last lap. The loop takes one lap per update; nobody else calls this."""
        now = self.seconds()
        lap = {name: seconds - self._lap_start.get(name, 0.0) for name, seconds in now.items()}
        self._lap_start = now
        return lap

    def load(self, seconds: Mapping[str, float]) -> None:
        """Continue from the sums of an earlier process; the time in between is nobody's."""
        self._seconds = {OTHER_PHASE: 0.0, **seconds}
        self._since = self._clock()
        self._lap_start = dict(self._seconds)


class SpeedWindow:
    """Units per second over the last ``window_seconds`` of the clock."""

    def __init__(self, window_seconds: float, clock: Clock, total: int) -> None:
        self._window_seconds = window_seconds
        self._clock = clock
        self._samples: deque[tuple[float, int]] = deque([(clock(), total)])

    def add(self, total: int) -> None:
        """Note the running total at this moment."""
        now = self._clock()
        self._samples.append((now, total))
        self._forget_before(now - self._window_seconds)

    def _forget_before(self, horizon: float) -> None:
        # The newest sample at or before the horizon stays: it is where the window begins.
        while len(self._samples) > 1 and self._samples[1][0] <= horizon:
            self._samples.popleft()

    def per_second(self) -> float:
        """The mean rate of the window; a stall pulls it down while it lasts."""
        now = self._clock()
        self._forget_before(now - self._window_seconds)
        began, total_then = self._samples[0]
        total_now = self._samples[-1][1]
        return (total_now - total_then) / (now - began) if now > began else 0.0
