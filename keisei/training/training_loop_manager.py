"""The loop: collect, learn, record, tell; one path for every mode."""

from __future__ import annotations

import logging
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from keisei.config_schema import AppConfig
from keisei.core.checkpoint import CheckpointStore
from keisei.core.experience_buffer import ExperienceBuffer
from keisei.core.ppo_agent import PPOAgent
from keisei.core.rollout import RolloutSummary
from keisei.errors import CheckpointError, JournalError
from keisei.evaluation.opponent_pool import OpponentPool
from keisei.evaluation.scores import Score
from keisei.record.console import ConsoleSnapshot, Health, RunConsole
from keisei.record.health import judge
from keisei.record.journal import Evaluation, Event, Game, Journal
from keisei.record.metrics import GameResult, Interval, Metrics, TimeInterval
from keisei.shogi import Reason, ShogiGame
from keisei.training.callbacks import CallbackRunner
from keisei.training.collector import Collector
from keisei.training.events import (
    CheckpointSaved,
    EvaluationFinished,
    TrainingFinished,
    UpdateFinished,
)
from keisei.training.run_state import GamesState, RunState

#: Points of each curve on the console.
CURVE_LENGTH = 60
CURVES = ("policy_loss", "value_loss", "entropy", "approx_kl", "explained_variance", "gradient_norm")
LEARNER_NAME = "keisei"

log = logging.getLogger(__name__)

Grader = Callable[[], dict[str, Score]]


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
    grade: Grader


class TrainingLoopManager:
    """Runs updates until the plies, the time or the user's patience are used up."""

    def __init__(
        self, config: AppConfig, run_name: str, parts: LoopParts, should_stop: Callable[[], bool]
    ) -> None:
        self._config = config
        self._run_name = run_name
        self._parts = parts
        self._should_stop = should_stop
        training = config.training
        done = parts.metrics.updates
        self._checkpoint_due = Interval(training.checkpoint_interval_updates, done)
        self._checkpoint_time = TimeInterval(training.checkpoint_interval_seconds)
        self._snapshot_due = Interval(training.opponents.snapshot_interval_updates, done)
        self._evaluation_due = Interval(config.evaluation.interval_updates, done)
        self._saved_update = done
        self._curves: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=CURVE_LENGTH))
        self._health = Health("good", "starting")
        self._began = time.monotonic() - parts.metrics.elapsed_seconds

    def run(self) -> str:
        """Trains; returns why it ended, in plain words. A checkpoint of the end is on disk then."""
        parts = self._parts
        games = parts.state.games()
        if not parts.store.paths():
            # Whenever it is stopped or killed, the run can go on: before its first update has ended, too.
            self._save(games)
        reason = self._reason_to_end()
        while reason is None:
            summary = self._collect()
            if summary.stopped:
                # The weights have not changed since the last update ended, so its games fit them.
                break
            metrics = self._learn(summary)
            games = parts.state.games()
            self._record(summary, metrics)
            self._keep(games)
            reason = self._reason_to_end()
        if self._saved_update != games.metrics["updates"]:
            self._save(games)
        reason = reason or "stopped by the user"
        self._show(force=True)
        parts.callbacks.emit(TrainingFinished(parts.metrics.updates, parts.metrics.global_timestep, reason))
        return reason

    def _reason_to_end(self) -> str | None:
        training = self._config.training
        if self._should_stop():
            return "stopped by the user"
        if self._parts.metrics.global_timestep >= training.total_plies:
            return f"all {training.total_plies:,} plies are played"
        if 0 < training.time_limit_seconds <= time.monotonic() - self._began:
            return f"the time limit of {training.time_limit_seconds:.0f} s is reached"
        return None

    # ---- one update

    def _collect(self) -> RolloutSummary:
        parts = self._parts
        parts.buffer.clear()
        with parts.metrics.phase("collect"):
            summary = parts.collector.collect(
                parts.buffer, version=parts.metrics.updates + 1, should_stop=self._heartbeat
            )
        if not summary.stopped:
            results = [GameResult(game.winner, game.reason) for game in summary.finished]
            parts.metrics.count_rollout(summary.plies, results)
        return summary

    def _learn(self, summary: RolloutSummary) -> dict[str, float]:
        parts = self._parts
        training = self._config.training
        with parts.metrics.phase("learn"):
            parts.buffer.compute_targets(gamma=training.gamma, lam=training.gae_lambda)
            learned = parts.agent.learn(parts.buffer, self._progress(), self._heartbeat)
        lag = parts.metrics.updates + 1 - int(parts.buffer.rows.version.min())
        update = parts.metrics.count_update()
        if training.opponents.share > 0 and self._snapshot_due.due(update):
            parts.pool.add(update, parts.agent.network.state_dict())
        seconds = parts.metrics.lap_seconds()
        return {
            **learned,
            **_game_figures(summary),
            "policy_lag": float(lag),
            **parts.collector.status(),
            "plies_per_second": parts.metrics.plies_per_second,
            "games": float(parts.metrics.games),
            **{f"seconds_{phase}": value for phase, value in seconds.items()},
        }

    def _progress(self) -> float:
        """0 at the first ply, 1 at the last: where the schedules are."""
        return self._parts.metrics.global_timestep / self._config.training.total_plies

    # ---- what is kept and told

    def _record(self, summary: RolloutSummary, metrics: Mapping[str, float]) -> None:
        parts = self._parts
        update, plies = parts.metrics.updates, parts.metrics.global_timestep
        with parts.metrics.phase("record"):
            parts.journal.add_metrics(update, plies, metrics)
            for game in summary.kept:
                parts.journal.add_game(update, _journal_game(game))
            self._commit()
            for name in CURVES:
                if name in metrics and np.isfinite(metrics[name]):
                    self._curves[name].append(metrics[name])
            self._health = judge(metrics)
            self._show()
        with parts.metrics.phase("callbacks"):
            parts.callbacks.emit(UpdateFinished(update, plies, metrics))

    def _commit(self) -> None:
        """Writes the journal; a full disk is an alert, not the end: the rows wait for the next commit."""
        try:
            self._parts.journal.commit()
        except JournalError as error:
            log.error("%s", error)

    def _keep(self, games: GamesState) -> None:
        update = self._parts.metrics.updates
        by_updates, by_time = self._checkpoint_due.due(update), self._checkpoint_time.due()
        if by_updates or by_time:
            self._save(games)
        if self._evaluation_due.due(update):
            self.evaluate()

    def _save(self, games: GamesState) -> Path | None:
        """Writes a checkpoint. When the disk refuses, older ones are whole and training goes on."""
        parts = self._parts
        update = int(games.metrics["updates"])
        with parts.metrics.phase("checkpoint"):
            try:
                path = parts.state.save(parts.store, games)
            except CheckpointError as error:
                log.error("%s", error)
                self._health = Health("bad", f"no checkpoint could be written: {error}")
                parts.journal.add_event(update, Event("checkpoint_failed", str(error)))
                self._commit()
                return None
        self._saved_update = update
        parts.callbacks.emit(CheckpointSaved(update, path))
        return path

    def evaluate(self) -> dict[str, Score]:
        """Measures the graded network against the fixed opponents and records the results."""
        parts = self._parts
        with parts.metrics.phase("evaluate"):
            scores = parts.grade()
        update = parts.metrics.updates
        for opponent, score in scores.items():
            low, high = score.interval
            parts.journal.add_evaluation(
                update,
                Evaluation(
                    opponent, score.games, score.wins, score.draws, score.losses, score.share, low, high
                ),
            )
            parts.callbacks.emit(EvaluationFinished(update, opponent, score))
        self._commit()
        return scores

    # ---- the console

    def _heartbeat(self) -> bool:
        """Called after every ply and every gradient step: refreshes the console, tells whether to stop."""
        self._show()
        return self._should_stop()

    def _show(self, *, force: bool = False) -> None:
        if force:
            self._parts.console.show(self._snapshot())
        else:
            self._parts.console.offer(self._snapshot)

    def _snapshot(self) -> ConsoleSnapshot:
        metrics = self._parts.metrics
        training = self._config.training
        return ConsoleSnapshot(
            run_name=self._run_name,
            update=metrics.updates,
            plies=metrics.global_timestep,
            total_plies=training.total_plies,
            games=metrics.games,
            elapsed_seconds=metrics.elapsed_seconds,
            time_limit_seconds=training.time_limit_seconds,
            plies_per_second=metrics.plies_per_second,
            curves={name: tuple(values) for name, values in self._curves.items()},
            results_by_winner=metrics.results_by_winner,
            results_by_reason=metrics.results_by_reason,
            board=str(self._parts.collector.watched_game()),
            health=self._health,
        )


def _game_figures(summary: RolloutSummary) -> dict[str, float]:
    """Figures of the games that ended in a rollout; none of them when none did."""
    finished = summary.finished
    if not finished:
        return {}
    reasons = Counter(game.reason for game in finished)
    return {
        "games_finished": float(len(finished)),
        "game_plies": float(np.mean([game.plies for game in finished])),
        "truncated_share": reasons[Reason.MAX_PLIES.value] / len(finished),
        "black_share": float(np.mean([game.winner == "black" for game in finished])),
        "white_share": float(np.mean([game.winner == "white" for game in finished])),
    }


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
