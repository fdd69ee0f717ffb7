"""The loop: collect, learn, record, tell; one path for every mode."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from keisei.config_schema import AppConfig
from keisei.core.checkpoint import CheckpointStore
from keisei.core.devices import OutOfMemory
from keisei.core.experience_buffer import ExperienceBuffer
from keisei.core.ppo_agent import PPOAgent
from keisei.core.ranks import ALONE, Ranks
from keisei.core.rollout import RolloutSummary
from keisei.errors import CheckpointError, JournalError, RankLostError
from keisei.evaluation.opponent_pool import OpponentPool
from keisei.record.console import Health, RunConsole
from keisei.record.health import judge
from keisei.record.journal import Event, Game, Journal
from keisei.record.metrics import PHASE_PREFIX, GameResult, Interval, Metrics, TimeInterval
from keisei.shogi import ShogiGame
from keisei.training.agreement import agreed_end, rollout_of_all
from keisei.training.callbacks import CallbackRunner
from keisei.training.collapse_guard import CollapseGuard, RollBackRequested
from keisei.training.collapse_response import CollapseResponse
from keisei.training.collector import Collector
from keisei.training.environments import thread_count
from keisei.training.evaluations import STATE_NAME, Evaluations
from keisei.training.evaluator_process import EvaluationJob
from keisei.training.events import (
    CheckpointSaved,
    TrainingFinished,
    UpdateFinished,
)
from keisei.training.game_figures import game_figures
from keisei.training.grading import Grade, Progress
from keisei.training.run_state import GamesState, RunState
from keisei.training.run_view import RunView
from keisei.training.watched_games import LEARNER_NAME, GameWatcher, Sighting

log = logging.getLogger(__name__)

#: Measures the checkpoint of an update, as the network is at the end of the run, and tells of each game.
Grader = Callable[[int, Progress], Grade]


@dataclass(frozen=True)
class LoopParts:
    """What the loop drives. Each part owns its facts; the loop owns the order of things."""

    agent: PPOAgent
    collector: Collector
    buffer: ExperienceBuffer
    pool: OpponentPool
    metrics: Metrics
    state: RunState
    store: CheckpointStore
    journal: Journal
    console: RunConsole
    callbacks: CallbackRunner
    guard: CollapseGuard
    evaluations: Evaluations
    grade: Grader
    ranks: Ranks = ALONE


class TrainingLoopManager:
    """Runs updates until the plies, the time or the user's patience are used up."""

    def __init__(
        self, config: AppConfig, run_name: str, parts: LoopParts, should_stop: Callable[[], bool]
    ) -> None:
        self._config = config
        self._parts = parts
        self._should_stop = should_stop
        training = config.training
        done = parts.metrics.updates
        self._checkpoint_due = Interval(training.checkpoint_interval_updates, done)
        self._checkpoint_time = TimeInterval(training.checkpoint_interval_seconds)
        self._snapshot_due = Interval(training.opponents.snapshot_interval_updates, done)
        self._evaluation_due = Interval(config.evaluation.interval_updates, done)
        self._saved_update = done
        self._watcher = GameWatcher(config, parts.agent)
        #: Rows learned from by the age of the weights that played them, in versions.
        self._rows_by_lag: Counter[int] = Counter()
        self._view = RunView(
            config, run_name, parts.console, parts.metrics, parts.collector, parts.evaluations
        )
        parts.agent.learning_rate_factor = parts.guard.learning_rate_factor
        self._collapse = CollapseResponse(
            parts.guard, parts.evaluations, parts.store, parts.journal, parts.callbacks, done
        )
        self._began = time.monotonic() - parts.metrics.elapsed_seconds

    def run(self) -> str:
        """Trains; returns why it ended, in plain words. A checkpoint of the end is on disk then."""
        parts = self._parts
        games = parts.state.games()
        if not parts.store.paths():
            # Whenever it is stopped or killed, the run can go on: before its first update has ended, too.
            self._save(games)
        reason = agreed_end(self._reason_to_end(), None, parts.ranks)
        while reason is None:
            try:
                summary = self._collect()
                if summary.stopped:
                    # The weights have not changed since the last update ended, so its games fit them.
                    break
                seen = self._watch()
                metrics = self._learn(summary)
                games = parts.state.games()
                self._record(summary, seen, metrics)
                reason = self._agreed_end()
            except (OutOfMemory, RankLostError):
                self._save_if_unsaved(games)
                raise
            self._keep(games, is_last=reason is not None)
        self._save_if_unsaved(games)
        reason = reason or "stopped by the user"
        self._view.show(force=True)
        parts.callbacks.emit(TrainingFinished(parts.metrics.updates, parts.metrics.global_timestep, reason))
        return reason

    def _agreed_end(self) -> str | None:
        """Why to end, if any rank knows a reason; raises the order to go back on all ranks."""
        try:
            reason, order = self._guard_against_collapse() or self._reason_to_end(), None
        except RollBackRequested as found:
            reason, order = None, found
        return agreed_end(reason, order, self._parts.ranks)

    def _reason_to_end(self) -> str | None:
        training = self._config.training
        if self._should_stop():
            return "stopped by the user"
        if self._parts.metrics.global_timestep >= training.total_plies:
            return f"all {training.total_plies:,} plies are played"
        if 0 < training.time_limit_seconds <= self._elapsed_seconds():
            return f"the time limit of {training.time_limit_seconds:.0f} s is reached"
        return None

    def _elapsed_seconds(self) -> float:
        """In training, resumed parts included."""
        return time.monotonic() - self._began

    # ---- one update

    def _collect(self) -> RolloutSummary:
        parts = self._parts
        parts.buffer.clear()
        with parts.metrics.phase("collect"):
            own = parts.collector.collect(
                parts.buffer, version=parts.metrics.updates + 1, should_stop=self._heartbeat
            )
            summary = rollout_of_all(own, parts.ranks)
        if not summary.stopped:
            results = [GameResult(game.winner, game.reason) for game in summary.finished]
            parts.metrics.count_rollout(summary.plies, results)
        return summary

    def _watch(self) -> Sighting:
        """Before learning: these are the weights that played."""
        with self._parts.metrics.phase("watch"):
            return self._watcher.look(self._parts.buffer.rows)

    def _learn(self, summary: RolloutSummary) -> dict[str, float]:
        parts = self._parts
        training = self._config.training
        with parts.metrics.phase("learn"):
            parts.buffer.compute_targets(
                gamma=training.gamma,
                lam=training.gae_lambda,
                num_threads=thread_count(self._config),
                total=None if parts.ranks.is_alone else parts.ranks.add_up_array,
            )
            learned = parts.agent.learn(
                parts.buffer,
                self._progress(),
                should_stop=self._heartbeat_of_learning,
                when_launched=parts.collector.think_ahead,
            )
        lags, counts = np.unique(parts.metrics.updates + 1 - parts.buffer.rows.version, return_counts=True)
        self._rows_by_lag.update(dict(zip(lags.tolist(), counts.tolist(), strict=True)))
        update = parts.metrics.count_update()
        if parts.collector.plays_frozen() and self._snapshot_due.due(update):
            parts.pool.add(update, parts.agent.network.state_dict())
        seconds = parts.metrics.lap_seconds()
        metrics = {
            **learned,
            **game_figures(summary),
            "policy_lag": float(lags.max()),
            **parts.collector.status(),
            "plies_per_second": parts.metrics.plies_per_second,
            "games": float(parts.metrics.games),
            **{PHASE_PREFIX + phase: value for phase, value in seconds.items()},
        }
        parts.guard.note(metrics)
        return metrics

    def _progress(self) -> float:
        """0 at the first ply, 1 at the last: where the schedules are."""
        training = self._config.training
        share = self._parts.metrics.global_timestep / training.total_plies
        if training.schedules_follow == "plies" or training.time_limit_seconds == 0:
            return share
        # Clocks differ; all ranks go by one.
        return self._parts.ranks.told(max(share, self._elapsed_seconds() / training.time_limit_seconds))

    # ---- what is kept and told

    def _record(self, summary: RolloutSummary, seen: Sighting, metrics: Mapping[str, float]) -> None:
        parts = self._parts
        update, plies = parts.metrics.updates, parts.metrics.global_timestep
        with parts.metrics.phase("record"):
            parts.journal.add_metrics(update, plies, metrics)
            for game in summary.kept:
                parts.journal.add_game(update, _journal_game(game))
            self._record_watched(update, seen)
            self._record_states(update)
            self._commit()
            self._view.note(metrics)
            weakness = self._collapse.weakness
            self._view.health = Health("bad", weakness) if weakness else judge(metrics)
            self._view.show()
        with parts.metrics.phase("callbacks"):
            parts.callbacks.emit(UpdateFinished(update, plies, metrics))

    def _record_watched(self, update: int, seen: Sighting) -> None:
        journal = self._parts.journal
        journal.add_watched_plies(update, seen.plies)
        if self._config.record.games_kept_per_update:
            for kept in seen.kept:
                journal.add_game(update, kept.game, kept.thoughts)

    def _record_states(self, update: int) -> None:
        """How things stand now, for viewers; nothing of it is kept."""
        parts = self._parts
        workers = {**parts.collector.details(), "rows_by_lag": self._rows_by_lag}
        parts.journal.add_state(update, "workers", workers)
        parts.journal.add_state(update, STATE_NAME, parts.evaluations.state)

    def _commit(self) -> None:
        """Writes the journal; a full disk is an alert, not the end: the rows wait for the next commit."""
        try:
            self._parts.journal.commit()
        except JournalError as error:
            log.error("%s", error)

    def _guard_against_collapse(self) -> str | None:
        """Takes in measurements, warns when learning has collapsed; the reason to end, if there is nothing else."""
        parts = self._parts
        with parts.metrics.phase("evaluate"):
            rated = parts.evaluations.take_in()
        found = self._collapse.look(rated)
        if found is None:
            return None
        self._view.health = Health("bad", found.words)
        self._view.show(force=True)
        try:
            return self._collapse.answer(found, parts.metrics.updates, parts.metrics.global_timestep)
        finally:
            self._commit()

    def _keep(self, games: GamesState, *, is_last: bool) -> None:
        update = self._parts.metrics.updates
        by_updates, by_time = self._checkpoint_due.due(update), self._checkpoint_time.due()
        if by_updates or by_time:
            self._save(games)
        # The end is measured anyway.
        if self._evaluation_due.due(update) and self._config.evaluation.opponents and not is_last:
            self._hand_over(games)

    def _hand_over(self, games: GamesState) -> None:
        """Has this update measured beside training, from its checkpoint."""
        parts = self._parts
        update = parts.metrics.updates
        path = parts.store.path_of(update) if self._saved_update == update else self._save(games)
        if path is not None:
            with parts.metrics.phase("evaluate"):
                parts.evaluations.hand_over(update, parts.metrics.global_timestep, path)

    def _save_if_unsaved(self, games: GamesState) -> None:
        if self._saved_update != games.metrics["updates"]:
            self._save(games)

    def _save(self, games: GamesState) -> Path | None:
        """Writes a checkpoint. When the disk refuses, older ones are whole and training goes on."""
        parts = self._parts
        update = int(games.metrics["updates"])
        with parts.metrics.phase("checkpoint"):
            try:
                path = parts.state.save(parts.store, games)
            except CheckpointError as error:
                log.error("%s", error)
                self._view.health = Health("bad", f"no checkpoint could be written: {error}")
                parts.journal.add_event(update, Event("checkpoint_failed", str(error)))
                self._commit()
                return None
        self._saved_update = update
        self._collapse.note_checkpoint(update)
        parts.callbacks.emit(CheckpointSaved(update, path))
        return path

    def evaluate(self) -> Grade:
        """Measures the network at the end of the run; what is being measured beside it comes first."""
        parts = self._parts
        update, plies = parts.metrics.updates, parts.metrics.global_timestep
        with parts.metrics.phase("evaluate"):
            parts.evaluations.finish(self._should_stop)
            job = EvaluationJob(update, plies, parts.store.path_of(update))
            grade = parts.evaluations.measure_here(job, lambda on_game: parts.grade(update, on_game))
        self._commit()
        return grade

    # ---- the console

    def _heartbeat(self) -> bool:
        """Called after every ply and every gradient step: refreshes the console, tells whether to stop."""
        self._view.show()
        return self._should_stop()

    def _heartbeat_of_learning(self) -> bool:
        self._parts.collector.meanwhile()
        return self._heartbeat()


def _journal_game(game: ShogiGame) -> Game:
    outcome = game.outcome
    if outcome is None:
        raise ValueError(f"only finished games are kept, got {game!r}")
    return Game(
        black=LEARNER_NAME,
        white=LEARNER_NAME,
        start_sfen=game.start_sfen,
        moves=tuple(move.usi for move in game.moves),
        winner=None if outcome.winner is None else outcome.winner.name.lower(),
        reason=outcome.reason.value,
    )
