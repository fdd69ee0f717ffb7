"""Rows from worker processes, for the loop; from the trainer itself when workers cannot be kept alive."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from keisei.config_schema import AppConfig
from keisei.core.experience_buffer import ExperienceBuffer
from keisei.core.ppo_agent import PPOAgent
from keisei.core.rollout import RolloutSummary
from keisei.errors import WorkerFailedError
from keisei.evaluation.opponent_pool import OpponentPool
from keisei.record.metrics import Interval
from keisei.shogi import ShogiGame
from keisei.training.collector import Collector, InProcessCollector
from keisei.training.parallel.parallel_manager import ExperienceBatch, ParallelManager

#: How long the collector waits before it lets the loop breathe (console, Ctrl-C).
BREATH_SECONDS = 0.1

log = logging.getLogger(__name__)


class ParallelCollector:
    """Plays through a `ParallelManager`. After a failure beyond repair it plays in-process, for the rest of the run."""

    def __init__(self, config: AppConfig, agent: PPOAgent, pool: OpponentPool) -> None:
        self._config = config
        self._agent = agent
        self._pool = pool
        self._manager: ParallelManager | None = ParallelManager(config)
        self._manager.start_workers()
        self._fallback: Collector | None = None
        self._reset_due = Interval(config.parallel.worker_reset_interval)
        self._watched = ShogiGame()

    def collect(
        self, buffer: ExperienceBuffer, *, version: int, should_stop: Callable[[], bool]
    ) -> RolloutSummary:
        if self._manager is not None:
            try:
                return self._collect_from_workers(self._manager, buffer, version, should_stop)
            except WorkerFailedError as error:
                log.error("%s; training goes on without workers", error)
                self._give_up(self._manager)
                buffer.clear()
        return self._in_process().collect(buffer, version=version, should_stop=should_stop)

    def _collect_from_workers(
        self,
        manager: ParallelManager,
        buffer: ExperienceBuffer,
        version: int,
        should_stop: Callable[[], bool],
    ) -> RolloutSummary:
        self._publish(manager, version)
        batches: list[ExperienceBatch] = []
        while True:
            batches += manager.collect_experiences(BREATH_SECONDS)
            if manager.update_complete:
                break
            if should_stop():
                return RolloutSummary(stopped=True)
        # The order of arrival is chance; the order of the buffer is not.
        batches.sort(key=lambda batch: (batch.worker, batch.generation, batch.sequence))
        total = RolloutSummary()
        for batch in batches:
            buffer.add_batch(batch.rows)
            total.plies += batch.summary.plies
            total.finished += batch.summary.finished
            total.kept += batch.summary.kept
        total.kept = total.kept[: self._config.record.games_kept_per_update]
        if total.kept:
            self._watched = total.kept[-1]
        return total

    def _publish(self, manager: ParallelManager, version: int) -> None:
        interval = self._config.parallel.model_sync_interval
        if manager.version == 0 or version - manager.version >= interval:
            snapshot = self._pool.draw()
            opponent = None if snapshot is None else snapshot.weights
            manager.sync_model_to_workers(self._agent.network.state_dict(), version, opponent)
        if self._reset_due.due(version):
            manager.reset_workers()

    def _give_up(self, manager: ParallelManager) -> None:
        manager.stop_workers()
        self._manager = None

    def _in_process(self) -> Collector:
        if self._fallback is None:
            self._fallback = InProcessCollector(self._config, self._agent, self._pool)
        return self._fallback

    def watched_game(self) -> ShogiGame:
        return self._watched if self._fallback is None else self._fallback.watched_game()

    def status(self) -> dict[str, Any]:
        """The workers' figures for the journal; empty once there are none."""
        if self._manager is None:
            return {}
        status = self._manager.get_status()
        workers = status["workers"].values()
        return {
            "workers": float(status["active_workers"]),
            "worker_utilisation": sum(w["utilisation"] for w in workers) / max(1, len(workers)),
            "worker_restarts": float(status["restarts"]),
            "slots_filled": float(status["queue_info"]["filled"]),
            "rows_refused": float(status["rows_refused"]),
            "rows_lost": float(status["rows_lost"]),
            "sync_seconds": status["sync_seconds"] / max(1, status["syncs"]),
        }

    def state(self) -> dict[str, Any]:
        if self._manager is None:
            return self._in_process().state()
        return {str(worker): state for worker, state in self._manager.save_states().items()}

    def load_state(self, state: Mapping[str, Any]) -> None:
        if self._manager is None or len(state) != self._manager.num_workers:
            log.warning(
                "the checkpoint holds the games of %d players, this run has %s: new games begin",
                len(state),
                "one" if self._manager is None else self._manager.num_workers,
            )
            return
        self._manager.load_states({int(worker): games for worker, games in state.items()})

    def close(self) -> None:
        if self._manager is not None:
            self._manager.stop_workers()
