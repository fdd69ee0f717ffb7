"""The trainer's side of parallel self-play: gives credit to workers, publishes weights, takes in what is played."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Any, Self

from torch import Tensor
from torch.nn import Module

from keisei.config_schema import AppConfig
from keisei.core.model_factory import model_factory
from keisei.core.rollout import RolloutSummary
from keisei.core.rollout_rows import RolloutRows
from keisei.errors import ConfigError, WorkerFailedError
from keisei.shogi.policy import action_count
from keisei.training.parallel.communication import (
    Received,
    ReceivedSlot,
    WorkerCommunicator,
    WorkerEnd,
    copied,
)
from keisei.training.parallel.messages import Command, LoadState, SavedState
from keisei.training.parallel.model_sync import ModelSynchronizer, WeightsReader
from keisei.training.parallel.self_play_worker import SelfPlayWorker, WorkerJob
from keisei.training.parallel.worker_crew import WorkerCrew
from keisei.training.parallel.worker_plan import (
    WorkerPlan,
    check_worker_count,
    first_game,
    opponent_version,
    worker_configs,
    worker_seed,
)
from keisei.training.parallel.worker_status import WorkerState
from keisei.training.parallel.worker_supervision import RestartBudget, Watchman

#: How often a waiting manager looks after its workers. Rows and deaths wake it at once.
WATCH_SECONDS = 0.05
ANONYMOUS = {"auto": None, "memfd": True, "named": False}

#: Makes the process of a worker, not yet started.
Launcher = Callable[[WorkerJob, WorkerEnd, WeightsReader, WeightsReader], BaseProcess]


@dataclass(frozen=True)
class ExperienceBatch:
    """One slot's worth of rows [T, N] in private memory, and where they come from."""

    worker: int
    generation: int
    sequence: int
    version: int
    rows: RolloutRows
    summary: RolloutSummary


class ParallelManager:
    """Worker processes that play with the published weights.

    ``with ParallelManager(config) as manager:`` starts and stops them; so do `start_workers` and `stop_workers`. A
    ``model`` is the network whose weights are published when the workers start, and whenever no others are given. All
    methods are for one thread.
    """

    def __init__(
        self, config: AppConfig, model: Module | None = None, *, launch: Launcher = SelfPlayWorker
    ) -> None:
        self._config = config
        self._model = model
        self._launch = launch
        self.plan = WorkerPlan.of(config)
        self._worker_configs = worker_configs(config)
        weights = model_factory(config.model, action_count(config.env.actions)).state_dict()
        self._weights_bytes = sum(tensor.nbytes for tensor in weights.values())
        self.plan.check_memory(self._weights_bytes)
        parallel = config.parallel
        anonymous = ANONYMOUS[parallel.shared_memory]
        self.communicator = WorkerCommunicator(
            self.plan.shape, self.plan.slots_per_worker, anonymous=anonymous
        )
        self._learner_weights = ModelSynchronizer(weights, anonymous=anonymous)
        self._opponent_weights = ModelSynchronizer(weights, anonymous=anonymous)
        self._crew = WorkerCrew(
            self.communicator,
            self._make_process,
            self._hear,
            Watchman(parallel.heartbeat_timeout_seconds),
            RestartBudget(parallel.restart_budget, parallel.restart_window_seconds),
        )
        self._arrived: deque[ExperienceBatch] = deque()
        self._saved: dict[int, dict[str, Any]] = {}
        self._missing = 0  # slots that the present update still waits for
        self._closed = False
        #: The newest published version.
        self.version = 0
        #: Rows that arrived too late to be learned from.
        self.rows_refused = 0

    # ---- life and death

    def start_workers(self) -> None:
        """Starts the worker processes. They play nothing before the first weights arrive, which a ``model`` brings."""
        self._start(self.plan.workers)
        if self._model is not None and self.version == 0:
            self.sync_model_to_workers()

    def _start(self, count: int) -> None:
        if self._closed:
            raise WorkerFailedError("the workers were stopped for good; make a new ParallelManager")
        try:
            self._crew.start([worker for worker in range(count) if worker not in self._crew.workers])
        except BaseException:
            self.stop_workers()
            raise

    def _make_process(self, worker: int, generation: int, end: WorkerEnd) -> BaseProcess:
        job = WorkerJob(
            worker=worker,
            config=self._worker_configs.get(worker, self._config),
            games=self.plan.shape.games,
            seed=worker_seed(self._config, worker, generation),
            first_game=first_game(worker, generation),
        )
        return self._launch(job, end, self._learner_weights, self._opponent_weights)

    def stop_workers(self) -> None:
        """Ends all workers and frees their memory, for good. Safe to call twice."""
        if self._closed:
            return
        self._closed = True
        self._crew.stop(self._crew.workers)
        self.communicator.close()
        self._learner_weights.close()
        self._opponent_weights.close()

    def set_num_workers(self, count: int) -> None:
        """Adds or removes workers while running; each update keeps its size."""
        if count < 1:
            raise ConfigError(f"expected at least one worker, got {count!r}; stop_workers() ends them all")
        check_worker_count(count, self.plan.slots_per_update)
        self.plan.check_memory_for_more(count - len(self._crew.workers), self._weights_bytes)
        self._crew.stop(self._crew.workers[count:])
        self._start(count)

    def __enter__(self) -> Self:
        self.start_workers()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop_workers()

    @property
    def plays_frozen(self) -> bool:
        """Whether any worker plays against frozen opponents."""
        configs = [self._worker_configs.get(worker, self._config) for worker in range(self.plan.workers)]
        return any(config.training.opponents.share > 0 for config in configs)

    # ---- orders

    def pause_workers(self, workers: Sequence[int] | None = None) -> None:
        """Workers hold still at the next ply, keeping what they have begun."""
        self._order(Command.PAUSE, workers)

    def resume_workers(self, workers: Sequence[int] | None = None) -> None:
        self._order(Command.RESUME, workers)

    def reset_workers(self, workers: Sequence[int] | None = None) -> None:
        """Workers throw their games away, and what they have begun of a slot, and start new ones."""
        self._order(Command.RESET, workers)

    def _order(self, command: Command, workers: Sequence[int] | None) -> None:
        there = self._crew.workers
        chosen = there if workers is None else tuple(workers)
        unknown = sorted(set(chosen) - set(there))
        if unknown:
            raise ConfigError(f"there is no worker {unknown[0]!r}; there are {list(there)}")
        self._crew.tell(chosen, command)

    # ---- weights

    def sync_model_to_workers(
        self,
        weights: Mapping[str, Tensor] | None = None,
        version: int | None = None,
        opponent: Mapping[str, Tensor] | None = None,
        number: int = 1,
    ) -> int:
        """Publishes weights, by default those of the ``model``, and of a new frozen opponent; returns the version.

        ``number`` (above 0) tells one frozen opponent from another.
        """
        if weights is None:
            weights = self._model_weights()
        version = self.version + 1 if version is None else version
        if opponent is not None:
            publication = self._opponent_weights.syncs + 1
            self._opponent_weights.publish(opponent, opponent_version(publication, number))
        self._learner_weights.publish(weights, version)
        self.version = version
        return version

    def _model_weights(self) -> Mapping[str, Tensor]:
        if self._model is None:
            raise WorkerFailedError(
                "there are no weights to publish: give sync_model_to_workers() some, or ParallelManager a model"
            )
        return self._model.state_dict()

    # ---- experience

    def collect_experiences(self, timeout: float | None = None) -> list[ExperienceBatch]:
        """Rows of the present update that arrive until it is complete or the timeout passes.

        Call it until ``update_complete``. In ``sync`` mode all rows are played by the newest published weights, in
        ``async`` mode by weights at most ``parallel.max_lag`` versions older; other rows are refused and counted, and
        played again.
        """
        if not self._crew.workers:
            raise WorkerFailedError("no workers are running; call start_workers() first")
        self._missing = self._missing or self.plan.slots_per_update
        deadline = time.monotonic() + (self._config.parallel.timeout_seconds if timeout is None else timeout)
        batches = self._claim()
        time_is_over = False
        while True:
            self._lend()
            if self._missing == 0 or time_is_over:
                return batches
            self._take_in(min(max(deadline - time.monotonic(), 0.0), WATCH_SECONDS))
            batches += self._claim()
            time_is_over = time.monotonic() >= deadline

    def _take_in(self, timeout_seconds: float) -> None:
        """Hears the workers and replaces the dead. When they cannot be kept alive, all are ended for good."""
        try:
            self._crew.take_in(timeout_seconds)
        except WorkerFailedError:
            self.stop_workers()
            raise

    @property
    def update_complete(self) -> bool:
        """Whether all rows of the present update have been returned."""
        return self._missing == 0

    def _claim(self) -> list[ExperienceBatch]:
        """What has arrived, as far as the present update wants it and it is young enough."""
        claimed = []
        while self._missing and self._arrived:
            batch = self._arrived.popleft()
            if batch.version < self.version - self.plan.max_lag:
                self.rows_refused += self.plan.shape.rows
                continue
            self._missing -= 1
            claimed.append(batch)
        return claimed

    def _lend(self) -> None:
        """Gives credit for as many slots as the mode allows to be under way."""
        workers = [worker for worker in self._crew.workers if self.communicator.is_connected(worker)]
        under_way = sum(self.communicator.lent(worker) for worker in workers) + len(self._arrived)
        wanted = self.plan.slots_under_way if self.plan.max_lag else self._missing
        for _ in range(wanted - under_way):
            if not self._lend_one(sorted(workers, key=self._ahead)):
                break  # all slots are in use: one will come free

    def _lend_one(self, workers: Sequence[int]) -> bool:
        """Credit for one slot, to the first of the workers that can take it."""
        return any(self.communicator.lend(worker, self.version) for worker in workers)

    def _ahead(self, worker: int) -> int:
        """Slots of a worker that it has credit for or that wait for the next update."""
        waiting = sum(batch.worker == worker for batch in self._arrived)
        return self.communicator.lent(worker) + waiting

    def _hear(self, worker: int, message: Received) -> None:
        match message:
            case ReceivedSlot():
                self._arrive(message)
            case SavedState(state):
                self._saved[worker] = state

    def _arrive(self, received: ReceivedSlot) -> None:
        message = received.message
        self._arrived.append(
            ExperienceBatch(
                received.worker,
                received.generation,
                message.sequence,
                message.version,
                copied(received.rows),
                message.summary,
            )
        )
        self.communicator.release(received)

    # ---- games in flight

    def save_states(self) -> dict[int, dict[str, Any]]:
        """The games in flight of every worker that has any, for a checkpoint; exact in ``sync`` mode between updates.

        A worker that dies meanwhile is left out, and so is one that has not begun to play: both begin new games.
        """
        self._saved = {}
        asked = {
            worker: self.communicator.generation(worker)
            for worker in self._crew.workers
            if self.communicator.status(worker).state is not WorkerState.STARTING
            and self.communicator.tell(worker, Command.SAVE_STATE)
        }
        deadline = time.monotonic() + self._config.parallel.timeout_seconds
        while waiting := [worker for worker in asked if self._will_answer(worker, asked[worker])]:
            if time.monotonic() > deadline:
                raise WorkerFailedError(
                    f"workers {waiting} did not tell their games within parallel.timeout_seconds"
                )
            self._take_in(WATCH_SECONDS)
        saved, self._saved = self._saved, {}
        return saved

    def _will_answer(self, worker: int, generation: int) -> bool:
        same_life = self.communicator.generation(worker) == generation
        return worker not in self._saved and same_life and self.communicator.is_connected(worker)

    def load_states(self, states: Mapping[int, dict[str, Any]]) -> None:
        """Workers go on with saved games; those without begin new ones."""
        for worker in states.keys() & set(self._crew.workers):
            self.communicator.tell(worker, LoadState(states[worker]))

    # ---- figures

    def get_status(self) -> dict[str, Any]:
        """What is going on: from the workers themselves where they can tell, with the age of what they told."""
        workers = {worker: self._crew.status(worker) for worker in self._crew.workers}
        for status in workers.values():
            status["lag"] = self.version - status["version"]
        return {
            "active_workers": sum(status["alive"] for status in workers.values()),
            "queue_info": {**self.communicator.queue_info(), "arrived": len(self._arrived)},
            "workers": workers,
            "restarts": self._crew.restarts,
            "version": self.version,
            "rows_received": self.communicator.rows_received,
            "rows_refused": self.rows_refused,
            "rows_lost": self.communicator.rows_lost,
            "syncs": self._learner_weights.syncs,
            "sync_seconds": self._learner_weights.sync_seconds,
        }
