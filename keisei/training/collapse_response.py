"""What a run does when its learning has collapsed: says so everywhere, then goes back, goes on, or ends."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from keisei.core.checkpoint import CheckpointStore, load_checkpoint
from keisei.errors import CheckpointError
from keisei.record.journal import Event, Journal
from keisei.record.strength import RatedUpdate
from keisei.training.callbacks import CallbackRunner
from keisei.training.collapse_guard import GUARD_STATE, CollapseGuard, RollBackRequested
from keisei.training.evaluations import Evaluations
from keisei.training.events import LearningCollapsed

#: Why the store keeps a checkpoint although it is old.
HOLD_PURPOSE = "healthy"

log = logging.getLogger(__name__)


class Collapse(NamedTuple):
    """A collapse in words, and the last checkpoint before it."""

    words: str
    healthy: Path


class CollapseResponse:
    """Keeps the last healthy checkpoint on disk, and answers a collapse. ``update`` is where the run stands."""

    def __init__(
        self,
        guard: CollapseGuard,
        evaluations: Evaluations,
        store: CheckpointStore,
        journal: Journal,
        callbacks: CallbackRunner,
        update: int,
    ) -> None:
        self._guard = guard
        self._evaluations = evaluations
        self._store = store
        self._journal = journal
        self._callbacks = callbacks
        #: What the last measurement showed, if that was bad.
        self.weakness = ""
        if guard.may_roll_back and not guard.is_healthy:
            guard.healthy_update = self._newest_healthy(update)
        self._hold()
        self.note_checkpoint(update)

    def note_checkpoint(self, update: int) -> None:
        """A checkpoint was written; it is the one to go back to if its figures show no sign."""
        if self._guard.is_healthy:
            self._guard.healthy_update = update
            self._hold()

    def _newest_healthy(self, update: int) -> int:
        """Of a resumed run that shows signs: the newest checkpoint before them, the beginning if none is left."""
        for path in reversed(self._store.paths()):
            try:
                checkpoint = load_checkpoint(path)
            except CheckpointError:  # reported when the run was resumed
                continue
            signs = self._guard.shows_signs(checkpoint.state.get(GUARD_STATE, {}))
            if checkpoint.manifest.update <= update and not signs:
                return checkpoint.manifest.update
        return 0

    def _hold(self) -> None:
        paths = [self._store.path_of(self._guard.healthy_update)] if self._guard.may_roll_back else []
        self._store.hold(HOLD_PURPOSE, paths)

    def look(self, rated: Sequence[RatedUpdate]) -> Collapse | None:
        """Whether figures that stay bad, or the newest of these ratings, show a collapse.

        The strongest checkpoint counts as healthy: behind it nobody goes back.
        """
        best, words, healthy = self._evaluations.strongest, self._guard.verdict(), self._guard.healthy_update
        if rated:
            self.weakness = self._guard.strength_verdict(rated[-1], best) or ""
            words = words or self.weakness
        if not words:
            return None
        if best is not None and (self.weakness or best.update > healthy):
            healthy = best.update
        return Collapse(words, self._store.path_of(healthy))

    def answer(self, collapse: Collapse, update: int, plies: int) -> str | None:
        """Tells everybody. Raises the order to go back if that is allowed; returns why to end if it no longer is."""
        log.warning("update %d: %s", update, collapse.words)
        self._journal.add_event(update, Event("collapse", collapse.words))
        self._callbacks.emit(LearningCollapsed(update, plies, collapse.words))
        if self._guard.is_out_of_rollbacks:
            return f"{collapse.words}; going back did not help ({self._guard.rollbacks} times)"
        if self._guard.may_roll_back and collapse.healthy.is_dir():
            raise RollBackRequested(collapse.healthy, collapse.words)
        return None
