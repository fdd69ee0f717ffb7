"""Rows from worker processes, for the loop; from the trainer itself when workers cannot be kept alive."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, zip_longest
from typing import Any

from keisei.config_schema import AppConfig
from keisei.core.experience_buffer import ExperienceBuffer
from keisei.core.ppo_agent import PPOAgent
from keisei.core.rollout import RolloutSummary
from keisei.errors import WorkerFailedError
from keisei.evaluation.opponent_pool import OpponentPool
from keisei.shogi import ShogiGame
from keisei.training.collector import Collector, InProcessCollector, credit, saved_games
from keisei.training.parallel.parallel_manager import ExperienceBatch, ParallelManager
from keisei.training.parallel.worker_plan import WorkerPlan

#: How long the collector waits before it lets the loop breathe (console, Ctrl-C).
BREATH_SECONDS = 0.1

log = logging.getLogger(__name__)


class ParallelCollector:
    """Plays through a `ParallelManager`. After a failure beyond repair it plays in-process, for the rest of the run."""

    def __init__(self, config: AppConfig, agent: PPOAgent, pool: OpponentPool) -> None:
        self._config = config
        self._agent = agent
        self._pool = pool
        self._watched = ShogiGame()
        self._fallback: Collector | None = None
        self._details: dict[str, Any] = {}
        self._manager: ParallelManager | None = None
        self._start()

    def _start(self) -> None:
        #: The frozen opponent that the workers have.
        self._seated = 0
        self._manager = ParallelManager(self._config)
        try:
            self._manager.start_workers()
        except WorkerFailedError as error:
            self._give_up(self._manager, error)

    def collect(
        self, buffer: ExperienceBuffer, *, version: int, should_stop: Callable[[], bool]
    ) -> RolloutSummary:
        if self._manager is not None:
            try:
                return self._collect_from_workers(self._manager, buffer, version, should_stop)
            except WorkerFailedError as error:
                self._give_up(self._manager, error)
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
        batches = manager.collect_experiences(BREATH_SECONDS)
        while not manager.update_complete:
            if should_stop():
                return RolloutSummary(stopped=True)
            batches += manager.collect_experiences(BREATH_SECONDS)
        # The order of arrival is chance; the order of the buffer is not.
        batches.sort(key=lambda batch: (batch.worker, batch.generation, batch.sequence))
        for batch in batches:
            buffer.add_batch(batch.rows)
        summary = self._summary_of(batches)
        credit(self._pool, summary)
        return summary

    def _summary_of(self, batches: Sequence[ExperienceBatch]) -> RolloutSummary:
        total = RolloutSummary()
        for batch in batches:
            total.plies += batch.summary.plies
            total.finished += batch.summary.finished
        # One game of each batch, then the next ones: every worker's games are seen.
        in_turn = chain.from_iterable(zip_longest(*(batch.summary.kept for batch in batches)))
        kept = [game for game in in_turn if game is not None]
        total.kept = kept[: self._config.record.games_kept_per_update]
        if total.kept:
            self._watched = total.kept[-1]
        return total

    def _publish(self, manager: ParallelManager, version: int) -> None:
        parallel = self._config.parallel
        if manager.version == 0 or version - manager.version >= parallel.model_sync_interval:
            snapshot = self._pool.draw()
            weights = self._agent.network.state_dict()
            if snapshot is None or snapshot.version == self._seated:
                manager.sync_model_to_workers(weights, version)
            else:
                manager.sync_model_to_workers(weights, version, snapshot.weights, snapshot.version)
                self._seated = snapshot.version
        updates = version - 1
        if parallel.worker_reset_interval and updates and updates % parallel.worker_reset_interval == 0:
            manager.reset_workers()

    def _give_up(self, manager: ParallelManager, error: WorkerFailedError) -> None:
        """Ends all workers. There is no way back: a run that has lost its workers does not try them again."""
        log.error("%s; training goes on without workers", error)
        manager.stop_workers()
        self._manager = None

    def _in_process(self) -> Collector:
        if self._fallback is None:
            self._fallback = InProcessCollector(self._config, self._agent, self._pool)
        return self._fallback

    def plays_frozen(self) -> bool:
        if self._manager is None:
            return self._in_process().plays_frozen()
        return self._manager.plays_frozen

    def watched_game(self) -> ShogiGame:
        return self._watched if self._fallback is None else self._fallback.watched_game()

    def status(self) -> dict[str, float]:
        """The workers' figures for the journal."""
        self._details = {}
        if self._manager is None:
            return {"workers": 0.0}
        status = self._details = self._manager.get_status()
        workers = list(status["workers"].values())
        queue = status["queue_info"]
        return {
            "workers": float(status["active_workers"]),
            "worker_utilisation": sum(worker["utilisation"] for worker in workers) / len(workers),
            "worker_plies_per_second": sum(worker["plies_per_second"] for worker in workers),
            "worker_memory_mib": sum(worker["memory_bytes"] for worker in workers) / 2**20,
            "worker_restarts": float(status["restarts"]),
            "slots_waiting": float(queue["filled"] + queue["arrived"]),
            "rows_refused": float(status["rows_refused"]),
            "rows_lost": float(status["rows_lost"]),
            "syncs": float(status["syncs"]),
            "sync_seconds": status["sync_seconds"] / max(1, status["syncs"]),
        }

    def details(self) -> dict[str, Any]:
        return self._details

    def meanwhile(self) -> None:
        """Workers do their work themselves."""

    def think_ahead(self) -> None:
        """Workers begin when they have the new weights."""

    def state(self) -> dict[str, Any]:
        if self._manager is not None:
            try:
                return {str(worker): state for worker, state in self._manager.save_states().items()}
            except WorkerFailedError as error:
                self._give_up(self._manager, error)
        return self._in_process().state()

    def load_state(self, state: Mapping[str, Any]) -> None:
        if self._manager is not None and self._manager.version:
            # The run goes back. What workers are playing belongs to what it leaves, and versions only grow.
            self._manager.stop_workers()
            self._start()
        if self._manager is None:
            self._in_process().load_state(state)
        elif self._fits(self._manager.plan, state):
            self._manager.load_states({int(worker): games for worker, games in state.items()})
        else:
            log.warning(
                "the games of the checkpoint were shared out to %d players in another way: new games begin",
                len(state),
            )

    @staticmethod
    def _fits(plan: WorkerPlan, state: Mapping[str, Any]) -> bool:
        """Whether saved games are those of these workers. A worker that had none may be missing."""
        sizes = {saved_games(games) for games in state.values()}
        return sizes <= {plan.shape.games} and set(state) <= {str(worker) for worker in range(plan.workers)}

    def close(self) -> None:
        if self._manager is not None:
            self._manager.stop_workers()
        if self._fallback is not None:
            self._fallback.close()
