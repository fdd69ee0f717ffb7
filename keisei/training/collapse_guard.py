"""Watches for learning that has collapsed: figures that stay bad, and networks that are weaker than they were.

What a bad figure is, `record.health` knows. The guard counts how long it lasts, remembers the last update without any
such sign, and says when the run should go back there. Two things are deliberate: one bad update proves nothing, and a
run that was never well since its beginning goes back to the beginning.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keisei.config_schema import GuardConfig
from keisei.record.health import collapse_signs
from keisei.record.strength import RatedUpdate

#: Under which name the guard's state lies in a checkpoint.
GUARD_STATE = "guard"


class RollBackRequested(Exception):  # noqa: N818 an order, not an error
    """The run should go back to the checkpoint ``target``; the message says why."""

    def __init__(self, target: Path, words: str) -> None:
        super().__init__(words)
        self.target = target
        self.words = words


class CollapseGuard:
    """The signs of one run. Its state belongs to the checkpoint, so a resumed run counts on."""

    def __init__(self, settings: GuardConfig) -> None:
        self._settings = settings
        self._streaks: dict[str, int] = {}
        #: Signs that have lasted for the guard's patience as of the last update, in words.
        self._ripe: list[str] = []
        #: How often the run has gone back.
        self.rollbacks = 0
        #: The newest update whose figures showed no sign; the beginning counts as healthy.
        self.healthy_update = 0

    @property
    def is_on(self) -> bool:
        return self._settings.patience_updates > 0

    @property
    def is_healthy(self) -> bool:
        """Whether the figures of the last update show no sign."""
        return not self._streaks

    @property
    def learning_rate_factor(self) -> float:
        """How much lower the learning rate is after the rollbacks so far."""
        return self._settings.learning_rate_factor**self.rollbacks

    @property
    def may_roll_back(self) -> bool:
        return self.rollbacks < self._settings.max_rollbacks

    @property
    def is_out_of_rollbacks(self) -> bool:
        """Whether the run was allowed to go back, and has used that up."""
        return 0 < self._settings.max_rollbacks <= self.rollbacks

    # ---- watching

    def note(self, metrics: Mapping[str, float]) -> None:
        """Counts the signs in the figures of an update; a figure that is missing says nothing."""
        self._ripe = []
        for metric, words in collapse_signs(metrics).items():
            if not words:
                self._streaks.pop(metric, None)
                continue
            self._streaks[metric] = self._streaks.get(metric, 0) + 1
            if self._streaks[metric] == self._settings.patience_updates:
                self._ripe.append(words)

    def verdict(self) -> str | None:
        """Words for a sign that has lasted for the guard's patience as of this update, and not before."""
        if not self._ripe:
            return None
        patience, reasons = self._settings.patience_updates, "; ".join(self._ripe)
        return f"learning has collapsed, for {patience} updates in a row: {reasons}"

    def strength_verdict(self, newest: RatedUpdate, best: RatedUpdate | None) -> str | None:
        """Words when a network is weaker than the strongest beyond doubt: their intervals do not meet."""
        if not self.is_on or best is None or newest.rating.high >= best.rating.low:
            return None
        return f"the network has become weaker: {newest}, but {best}"

    # ---- state

    def state(self) -> dict[str, Any]:
        """Plain JSON; which checkpoint was healthy shows in the checkpoints themselves."""
        return {"streaks": dict(sorted(self._streaks.items())), "rollbacks": self.rollbacks}

    def state_after_rollback(self) -> dict[str, Any]:
        """What the guard knows in the checkpoint that the run goes back to."""
        return {"streaks": {}, "rollbacks": self.rollbacks + 1}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Goes on from a checkpoint; one without state was written by an older Keisei."""
        self._ripe = []
        self._streaks = dict(state.get("streaks", {}))
        self.rollbacks = int(state.get("rollbacks", 0))
        self.healthy_update = 0

    @staticmethod
    def shows_signs(state: Mapping[str, Any]) -> bool:
        """Whether a saved state has any sign in it."""
        return bool(state.get("streaks"))
