"""The figures of a run: plies, updates, games and their results, speed, and where the time went.

``Metrics`` is the only place that counts. Everything else reads it.
"""

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Literal, NamedTuple

from keisei.errors import CheckpointError
from keisei.record.stopwatches import Clock, PhaseTimers, SpeedWindow

Winner = Literal["black", "white"]

NO_WINNER = "none"
SPEED_WINDOW_SECONDS = 30.0
#: Of the figures that say how long a phase of an update took.
PHASE_PREFIX = "seconds_"


class GameResult(NamedTuple):
    """How one game ended. No winner is a draw or a cut-off game: the reason says which."""

    winner: Winner | None
    reason: str


class Interval:
    """Something due every ``every`` steps: at the first step that reaches a multiple, once, never at 0.

    Steps may jump (a rollout adds thousands of plies): what fell due in between is due once. ``every=0`` is
    never due. ``start`` is the step a resumed run continues from; what was due up to there has happened.
    """

    def __init__(self, every: int, start: int = 0) -> None:
        if every < 0 or start < 0:
            raise ValueError(
                f"an interval counts from 0 in steps of 0 or more, got {every=!r} and {start=!r}"
            )
        self.every = every
        self._seen = start

    def due(self, step: int) -> bool:
        """Whether the step reached now names the event; asking again at the same step says no."""
        if step < self._seen:
            raise ValueError(
                f"steps only grow, got {step!r} after {self._seen!r}; resume with Interval(every, start)"
            )
        is_due = self.every > 0 and step // self.every > self._seen // self.every
        self._seen = step
        return is_due


class TimeInterval:
    """Something due when ``every_seconds`` have passed since it last was; 0 is never due."""

    def __init__(self, every_seconds: float, clock: Clock = time.monotonic) -> None:
        if every_seconds < 0:
            raise ValueError(f"an interval is 0 seconds or longer, got {every_seconds!r}")
        self.every_seconds = every_seconds
        self._clock = clock
        self._last = clock()

    def due(self) -> bool:
        """Whether the time has come; the next interval then starts now."""
        now = self._clock()
        if self.every_seconds == 0 or now - self._last < self.every_seconds:
            return False
        self._last = now
        return True


class Metrics:
    """Sole owner of the run's counters, with speed and phase times on the monotonic clock.

    The training loop calls ``count_rollout`` once for every rollout it takes in, wherever it was played, and
    ``count_update`` once for every update: there is no second path on which a figure could be missed or
    doubled.
    """

    def __init__(
        self, clock: Clock = time.monotonic, speed_window_seconds: float = SPEED_WINDOW_SECONDS
    ) -> None:
        self._clock = clock
        self._speed_window_seconds = speed_window_seconds
        self._plies = 0
        self._updates = 0
        self._results: Counter[GameResult] = Counter()
        self._phases = PhaseTimers(clock)
        self._speed = SpeedWindow(speed_window_seconds, clock, self._plies)

    @property
    def global_timestep(self) -> int:
        """Plies of all games of the run, resumed parts included."""
        return self._plies

    @property
    def updates(self) -> int:
        """Finished updates."""
        return self._updates

    @property
    def games(self) -> int:
        """Finished games: the sum of the results, not a counter of its own."""
        return self._results.total()

    @property
    def results(self) -> dict[GameResult, int]:
        """Games by winner and reason."""
        return dict(self._results)

    @property
    def results_by_winner(self) -> dict[str, int]:
        """Games won by ``black`` and ``white``, and games with the winner ``none``."""
        counts = Counter({"black": 0, "white": 0, NO_WINNER: 0})
        for result, count in self._results.items():
            counts[result.winner or NO_WINNER] += count
        return dict(counts)

    @property
    def results_by_reason(self) -> dict[str, int]:
        """Games by reason, the most frequent first."""
        counts: Counter[str] = Counter()
        for result, count in self._results.items():
            counts[result.reason] += count
        return dict(counts.most_common())

    @property
    def plies_per_second(self) -> float:
        """Speed over the sliding window, from the plies that arrived, whoever played them."""
        return self._speed.per_second()

    @property
    def elapsed_seconds(self) -> float:
        """Time in training, resumed parts included, stops in between excluded."""
        return sum(self._phases.seconds().values())

    def count_rollout(self, plies: int, results: Iterable[GameResult]) -> None:
        """Count the plies of one rollout and the games that ended in it."""
        if plies < 0:
            raise ValueError(f"a rollout has 0 plies or more, got {plies!r}")
        self._plies += plies
        self._results.update(results)
        self._speed.add(self._plies)

    def count_update(self) -> int:
        """Count one finished update and return its number; the first is 1."""
        self._updates += 1
        return self._updates

    def phase(self, name: str) -> AbstractContextManager[None]:
        """Charge the time of a ``with`` block to a phase, see ``PhaseTimers``."""
        return self._phases.phase(name)

    def phase_seconds(self) -> dict[str, float]:
        """Seconds by phase over the whole run; they sum to ``elapsed_seconds``."""
        return self._phases.seconds()

    def lap_seconds(self) -> dict[str, float]:
        """Seconds by phase since the last call; the loop asks once per update."""
        return self._phases.lap()

    def state_dict(self) -> dict[str, Any]:
        """All counters as plain JSON."""
        return {
            "plies": self._plies,
            "updates": self._updates,
            "results": [
                [winner, reason, count] for (winner, reason), count in sorted(self._results.items(), key=str)
            ],
            "phase_seconds": self.phase_seconds(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from ``state_dict``; the speed starts afresh, so a resume shows no leap."""
        try:
            plies, updates = int(state["plies"]), int(state["updates"])
            results = Counter(
                {GameResult(winner, reason): int(count) for winner, reason, count in state["results"]}
            )
            seconds = {str(name): float(value) for name, value in state["phase_seconds"].items()}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise CheckpointError(
                f"a checkpoint's metrics need plies, updates, results and phase_seconds, got {state!r} "
                f"({error!r}); resume from an older checkpoint"
            ) from error
        self._plies, self._updates, self._results = plies, updates, results
        self._phases.load(seconds)
        self._speed = SpeedWindow(self._speed_window_seconds, self._clock, plies)
