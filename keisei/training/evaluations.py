"""What is measured in the course of a run: checkpoints handed over, results filed, the strongest one known and kept."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from keisei.core.checkpoint import CheckpointStore
from keisei.errors import CheckpointError, JournalError
from keisei.evaluation.ratings import Rating
from keisei.evaluation.scores import Score
from keisei.record.journal import Evaluation, Event, Journal, PlayerRating
from keisei.record.metrics import TimeInterval
from keisei.record.strength import RatedUpdate, strongest
from keisei.training.callbacks import CallbackRunner
from keisei.training.evaluator import HANG_SECONDS, Evaluator
from keisei.training.evaluator_process import (
    EvaluationDone,
    EvaluationFailed,
    EvaluationJob,
    EvaluationProgress,
)
from keisei.training.events import CheckpointRated, EvaluationFinished
from keisei.training.grading import Grade, Progress

#: How often the end of a run looks whether the evaluator is done, or the user out of patience, and tells viewers.
LOOK_SECONDS = 0.2
#: Why the store keeps a checkpoint although it is old.
HOLD_PURPOSE = "evaluation"
#: Under which viewers find what is going on.
STATE_NAME = "evaluation"

log = logging.getLogger(__name__)


class Evaluations:
    """Files every result in the same way, whether it was measured beside training or at its end."""

    def __init__(
        self,
        evaluator: Evaluator,
        store: CheckpointStore,
        journal: Journal,
        callbacks: CallbackRunner,
        rated: Iterable[RatedUpdate] = (),
    ) -> None:
        self._evaluator = evaluator
        self._store = store
        self._journal = journal
        self._callbacks = callbacks
        self._rated = {each.update: each for each in rated}
        self._recorded: dict[str, Any] = {}
        #: Of the match that is played in this process, at the end of the run.
        self._own: EvaluationProgress | None = None

    @property
    def strongest(self) -> RatedUpdate | None:
        """The checkpoint with the highest lower bound so far."""
        return strongest(self._rated.values())

    @property
    def newest(self) -> RatedUpdate | None:
        """The rating of the latest update that has one."""
        return self._rated[max(self._rated)] if self._rated else None

    @property
    def state(self) -> dict[str, Any]:
        """What is going on, for viewers: updates that are being measured or wait to be, and the match being played."""
        progress = self._own or self._evaluator.progress
        measuring = [job.update for job in (*self._evaluator.jobs, *((self._own.job,) if self._own else ()))]
        if progress is None:
            return {"measuring": measuring}
        match = {name: value for name, value in progress._asdict().items() if name != "job"}
        return {"measuring": measuring, "match": match}

    @property
    def words(self) -> str:
        """How strong the run is, for people; empty while nothing is known."""
        newest, best = self.newest, self.strongest
        if newest is None:
            return ""
        if best is None or best.update == newest.update:
            return f"strength {newest}"
        return f"strength {newest}; strongest {best}"

    def hand_over(self, update: int, plies: int, path: Path) -> list[RatedUpdate]:
        """Has a checkpoint measured beside training; it stays on disk meanwhile."""
        self._evaluator.request(EvaluationJob(update, plies, path))
        return self.take_in()

    def take_in(self) -> list[RatedUpdate]:
        """Files what has been measured by now; never waits. Returns the new ratings."""
        rated: list[RatedUpdate] = []
        for outcome in self._evaluator.poll():
            match outcome:
                case EvaluationDone(job, grade):
                    rated += self.file(job, grade)
                case EvaluationFailed(job, reason):
                    self._report(job.update, reason)
        self._store.hold(HOLD_PURPOSE, [job.path for job in self._evaluator.jobs])
        return rated

    def finish(self, should_stop: Callable[[], bool]) -> None:
        """Waits for what is being measured, unless the user wants to leave or the evaluator hangs."""
        used, since = 0.0, time.monotonic()
        self.take_in()
        while self._evaluator.jobs and not should_stop():
            self._evaluator.wait(LOOK_SECONDS)
            self.take_in()
            self._record_state()
            now_used = self._evaluator.cpu_seconds()
            if now_used != used:
                used, since = now_used, time.monotonic()
            elif time.monotonic() - since > HANG_SECONDS:
                self._report(
                    self._evaluator.jobs[0].update, f"the evaluator has not moved for {HANG_SECONDS:.0f} s"
                )
                break
        self.close()
        self._record_state()

    def measure_here(self, job: EvaluationJob, measure: Callable[[Progress], Grade]) -> Grade:
        """Measures the end of the run in this process, shows viewers how far it is, and files what came out."""
        look = TimeInterval(LOOK_SECONDS)

        def on_game(opponent: str, score: Score, planned: int) -> None:
            self._own = EvaluationProgress(job, opponent, score.wins, score.draws, score.losses, planned)
            if look.due():
                self._record_state()

        try:
            grade = measure(on_game)
        finally:
            self._own = None
        self.file(job, grade)
        self._record_state()
        return grade

    def _record_state(self) -> None:
        """For viewers, when no update does it any more."""
        state = self.state
        if state != self._recorded:
            self._recorded = state
            self._journal.add_state(self._journal.last_update, STATE_NAME, state)
            try:
                self._journal.commit()
            except JournalError as error:  # a full disk; what is collected goes in with the next commit
                log.warning("%s", error)

    def file(self, job: EvaluationJob, grade: Grade) -> list[RatedUpdate]:
        """To the journal, to the callbacks, and to the folder of checkpoints if it is the strongest."""
        for opponent, score in grade.scores.items():
            low, high = score.interval
            row = Evaluation(
                opponent, score.games, score.wins, score.draws, score.losses, score.share, low, high
            )
            self._journal.add_evaluation(job.update, row)
            self._callbacks.emit(EvaluationFinished(job.update, job.plies, opponent, score))
        if grade.problem:
            self._report(job.update, grade.problem)
        return [] if grade.rating is None else [self._rate(job, grade.rating)]

    def _rate(self, job: EvaluationJob, rating: Rating) -> RatedUpdate:
        row = PlayerRating(rating.name, rating.elo, rating.low, rating.high, rating.games)
        rated = self._rated[job.update] = RatedUpdate(job.update, row)
        self._journal.add_rating(job.update, row)
        best = self.strongest
        is_strongest = best is not None and best.update == job.update
        if is_strongest:
            self._mark(job)
        self._callbacks.emit(CheckpointRated(job.update, job.plies, rating, is_strongest))
        return rated

    def _mark(self, job: EvaluationJob) -> None:
        try:
            self._store.mark_best(job.path)
        except CheckpointError as error:  # a full disk; the rating itself is in the journal
            self._report(job.update, str(error))

    def _report(self, update: int, reason: str) -> None:
        log.warning("evaluation of update %d: %s", update, reason)
        self._journal.add_event(update, Event("evaluation_failed", reason))

    def go_back(self, update: int) -> None:
        """The run goes back to an update: what is known of later ones is forgotten."""
        self.close()
        self._rated = {known: rated for known, rated in self._rated.items() if known <= update}

    def close(self) -> None:
        """Ends the evaluator with whatever it is doing."""
        self._evaluator.close()
        self._store.hold(HOLD_PURPOSE, [])
