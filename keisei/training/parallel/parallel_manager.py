"""The trainer's side of parallel self-play: starts workers, keeps them alive, and takes in what they play."""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any, Self

import numpy as np
import psutil
from torch import Tensor

from keisei.config_loader import overridden
from keisei.config_schema import AppConfig
from keisei.core.model_factory import model_factory
from keisei.core.rollout import RolloutSummary
from keisei.core.rollout_rows import RolloutRows
from keisei.errors import ConfigError, WorkerFailedError
from keisei.shogi.policy import action_count
from keisei.training.parallel.communication import (
    ReceivedSlot,
    SlotShape,
    WorkerCommunicator,
    copied,
)
from keisei.training.parallel.messages import Command, Failure, LoadState, SavedState
from keisei.training.parallel.model_sync import ModelSynchronizer
from keisei.training.parallel.self_play_worker import SelfPlayWorker, WorkerJob
from keisei.training.parallel.worker_supervision import RestartBudget

log = logging.getLogger(__name__)

#: How often a waiting manager looks after its workers.
WATCH_SECONDS = 0.05
STOP_TIMEOUT_SECONDS = 2.0
#: Games are numbered by worker and generation, so that no two ever share a number.
WORKER_SHIFT = 48
GENERATION_SHIFT = 36


@dataclass(frozen=True)
class ExperienceBatch:
    """One slot's worth of rows [T, N] in private memory, and where they come from."""

    worker: int
    generation: int
    sequence: int
    version: int
    rows: RolloutRows
    summary: RolloutSummary


@dataclass
class _Seat:
    """One worker's place: its process, and how many slots it owes."""

    process: SelfPlayWorker
    owed: int = 0


class ParallelManager:
    """Worker processes that play with the published weights.

    ``with ParallelManager(config) as manager:`` starts and stops them; so do `start_workers` and `stop_workers`.
    """

    def __init__(self, config: AppConfig) -> None:
        self._config = config
        parallel = config.parallel
        self.num_workers = resolve_workers(config)
        if self.num_workers < 1:
            raise ConfigError(
                "parallel.num_workers is 0: there are no workers to manage; play in-process instead"
            )
        self.games_per_worker = _games_per_worker(config, self.num_workers)
        self.slots_per_update = config.env.num_games // self.games_per_worker
        self._shape = SlotShape(config.training.rollout_plies, self.games_per_worker)
        self._slots_per_worker = _slots_per_worker(config, self.slots_per_update, self.num_workers)
        self._is_async = parallel.mode == "async"
        self._worker_configs = worker_configs(config)
        _check_memory(self._shape, self._slots_per_worker, self.num_workers)
        weights = model_factory(config.model, action_count(config.env.actions)).state_dict()
        self._anonymous = {"auto": None, "memfd": True, "named": False}[parallel.shared_memory]
        self._learner_weights = ModelSynchronizer(weights, anonymous=self._anonymous)
        self._opponent_weights = ModelSynchronizer(weights, anonymous=self._anonymous)
        self.communicator = WorkerCommunicator(self._shape, self._slots_per_worker, anonymous=self._anonymous)
        self._seats: dict[int, _Seat] = {}
        self._budget = RestartBudget(parallel.restart_budget, parallel.restart_window_seconds)
        self._saved: dict[int, dict[str, Any]] = {}
        self._missing = 0  # slots that the present update still waits for
        self.rows_refused = 0
        self.restarts = 0
        self._closed = False

    # ---- life and death

    def start_workers(self) -> None:
        """Starts the worker processes. They play nothing before the first weights arrive."""
        for worker in range(self.num_workers):
            if worker not in self._seats:
                self._start(worker)

    def _start(self, worker: int) -> None:
        end = self.communicator.open(worker)
        self._seats[worker] = _Seat(self._spawn(worker, end))

    def _spawn(self, worker: int, end: Any) -> SelfPlayWorker:
        generation = self.communicator.generation(worker)
        job = WorkerJob(
            worker=worker,
            config=self._worker_configs.get(worker, self._config),
            games=self.games_per_worker,
            seed=_seed(self._config, worker, generation),
            first_game=worker << WORKER_SHIFT | generation - 1 << GENERATION_SHIFT,
        )
        process = SelfPlayWorker(job, end, self._learner_weights, self._opponent_weights)
        process.start()
        self.communicator.started(worker)
        return process

    def stop_workers(self) -> None:
        """Ends all workers and frees their memory. Safe to call twice."""
        if self._closed:
            return
        self._closed = True
        for worker in tuple(self._seats):
            self._stop(worker)
        self.communicator.close()
        self._learner_weights.close()
        self._opponent_weights.close()

    def _stop(self, worker: int) -> None:
        seat = self._seats.pop(worker)
        self.communicator.tell(worker, Command.STOP)
        seat.process.join(STOP_TIMEOUT_SECONDS)
        if seat.process.is_alive():
            seat.process.kill()
            seat.process.join()
        seat.process.close()
        self.communicator.close_line(worker)

    def set_num_workers(self, count: int) -> None:
        """Adds or removes workers while running; each update keeps its size."""
        if count < 1:
            raise ConfigError(f"at least one worker is needed, not {count!r}; stop_workers() ends them all")
        for worker in sorted(self._seats)[count:]:
            # What it was filling is played by the others instead.
            owed = self._seats[worker].owed
            self._stop(worker)
            self._lend_anywhere(owed)
        self.num_workers = count
        self.start_workers()

    def __enter__(self) -> Self:
        self.start_workers()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop_workers()

    # ---- orders

    def pause_workers(self, workers: Sequence[int] | None = None) -> None:
        """Workers hold still at the next ply, keeping what they have begun."""
        self.communicator.command(Command.PAUSE, self._chosen(workers))

    def resume_workers(self, workers: Sequence[int] | None = None) -> None:
        self.communicator.command(Command.RESUME, self._chosen(workers))

    def reset_workers(self, workers: Sequence[int] | None = None) -> None:
        """Workers throw their games away and begin new ones from their seed."""
        self.communicator.command(Command.RESET, self._chosen(workers))

    def _chosen(self, workers: Sequence[int] | None) -> tuple[int, ...]:
        if workers is None:
            return tuple(self._seats)
        unknown = sorted(set(workers) - set(self._seats))
        if unknown:
            raise ConfigError(f"there are no workers {unknown}; there are {sorted(self._seats)}")
        return tuple(workers)

    # ---- weights

    @property
    def version(self) -> int:
        """The newest published version."""
        return self._learner_weights.version

    def sync_model_to_workers(
        self,
        weights: Mapping[str, Tensor],
        version: int | None = None,
        opponent: Mapping[str, Tensor] | None = None,
    ) -> int:
        """Publishes weights, and those of the frozen opponent if it is a new one; returns the version."""
        version = self.version + 1 if version is None else version
        if opponent is not None:
            self._opponent_weights.publish(opponent, self._opponent_weights.version + 1)
        self._learner_weights.publish(weights, version)
        return version

    # ---- experience

    def collect_experiences(self, timeout: float | None = None) -> list[ExperienceBatch]:
        """Rows of the present update that arrive until it is complete or the timeout passes.

        Call it until ``update_complete``. In ``sync`` mode all rows are played by the newest weights; in ``async`` mode
        rows that are more than ``parallel.max_lag`` versions old are refused and played again.
        """
        if not self._seats:
            raise WorkerFailedError("no workers are running; call start_workers() first")
        if self._missing == 0:
            self._begin_update()
        limit = self._config.parallel.timeout_seconds if timeout is None else timeout
        deadline = time.monotonic() + limit
        batches: list[ExperienceBatch] = []
        while self._missing > 0:
            left = deadline - time.monotonic()
            if left <= 0:
                break
            batches += self._take_in(min(left, WATCH_SECONDS))
            self._look_after_workers()
        return batches

    @property
    def update_complete(self) -> bool:
        """Whether all rows of the present update have been returned."""
        return self._missing == 0

    def _begin_update(self) -> None:
        self._missing = self.slots_per_update
        if self._is_async:
            self._lend_freely()
        else:
            self._lend_anywhere(self.slots_per_update)

    def _lend_anywhere(self, slots: int) -> None:
        """Credit for a number of slots, evenly over the workers that have room."""
        for _ in range(slots):
            for worker in sorted(self._seats, key=lambda w: (self._seats[w].owed, w)):
                self._seats[worker].owed += 1
                if self.communicator.lend(worker, self.version):
                    break
                if not self._seats[worker].process.is_alive():
                    break  # owed: the next generation gets the credit
                self._seats[worker].owed -= 1

    def _lend_freely(self) -> None:
        """Async: every worker may have as many slots under way or waiting as the lag bound allows."""
        for worker, seat in self._seats.items():
            while seat.owed < self._config.parallel.max_lag and self.communicator.lend(
                worker, max(1, self.version)
            ):
                seat.owed += 1

    def _take_in(self, timeout_seconds: float) -> list[ExperienceBatch]:
        batches = []
        for worker, message in self.communicator.receive(timeout_seconds):
            match message:
                case ReceivedSlot():
                    batch = self._accept(worker, message)
                    if batch is not None:
                        batches.append(batch)
                case SavedState(state):
                    self._saved[worker] = state
                case Failure(error, traceback):
                    self._note_failure(worker, error, traceback)
        return batches

    def _accept(self, worker: int, received: ReceivedSlot) -> ExperienceBatch | None:
        message = received.message
        seat = self._seats[worker]
        seat.owed -= 1
        self._budget.delivered(worker)
        too_old = self._is_async and message.version < self.version - self._config.parallel.max_lag
        wanted = self._missing > 0 and not too_old
        batch = None
        if wanted:
            self._missing -= 1
            batch = ExperienceBatch(
                worker,
                received.generation,
                message.sequence,
                message.version,
                copied(received.rows),
                message.summary,
            )
        elif too_old:
            self.rows_refused += self._shape.rows
        self.communicator.release(received)
        if self._is_async:
            self._lend_freely()
        return batch

    # ---- keeping them alive

    def _look_after_workers(self) -> None:
        patience = self._config.parallel.heartbeat_timeout_seconds
        for worker, seat in self._seats.items():
            if seat.process.is_alive():
                if self.communicator.status(worker).heartbeat_age_seconds <= patience:
                    continue
                log.warning("worker %d gave no sign of life for %.0f s and is replaced", worker, patience)
                seat.process.kill()
                seat.process.join()
            self._replace(worker, seat)

    def _replace(self, worker: int, seat: _Seat) -> None:
        for _, message in self.communicator.receive(0):  # what it said last
            if isinstance(message, Failure):
                self._note_failure(worker, message.error, message.traceback)
        delay = self._budget.allow(worker)
        if delay is None:
            raise WorkerFailedError(
                f"worker {worker} died more than {self._config.parallel.restart_budget} times within "
                f"{self._config.parallel.restart_window_seconds:.0f} s (exit code {seat.process.exitcode}); "
                "look for a lack of memory, or lower parallel.num_workers"
            )
        if delay > 0:
            return  # not yet
        log.warning("worker %d died (exit code %s) and is replaced", worker, seat.process.exitcode)
        seat.process.close()
        self.restarts += 1
        seat.process = self._spawn(worker, self.communicator.reopen(worker))
        for _ in range(seat.owed):
            self.communicator.lend(worker, self.version)

    def _note_failure(self, worker: int, error: str, traceback: str) -> None:
        log.error("worker %d failed:\n%s", worker, traceback)
        if not self._budget.has_delivered(worker):
            raise WorkerFailedError(
                f"worker {worker} failed before it played anything: {error}; its own traceback:\n{traceback}"
            )

    # ---- games in flight

    def save_states(self) -> dict[int, dict[str, Any]]:
        """The games in flight of every worker, for a checkpoint; exact in ``sync`` mode between updates."""
        self._saved.clear()
        self.communicator.command(Command.SAVE_STATE, tuple(self._seats))
        deadline = time.monotonic() + self._config.parallel.timeout_seconds
        while set(self._saved) != set(self._seats):
            if time.monotonic() > deadline:
                missing = sorted(set(self._seats) - set(self._saved))
                raise WorkerFailedError(f"workers {missing} did not tell their games in time")
            for worker, message in self.communicator.receive(WATCH_SECONDS):
                if isinstance(message, SavedState):
                    self._saved[worker] = message.state
                elif isinstance(message, ReceivedSlot):
                    # Async: it belongs to the next update; the slot is put back and played again.
                    self._seats[worker].owed -= 1
                    self.communicator.release(message)
        return dict(self._saved)

    def load_states(self, states: Mapping[int, dict[str, Any]]) -> None:
        """Workers go on with saved games; those without begin new ones."""
        for worker, state in states.items():
            if worker in self._seats:
                self.communicator.tell(worker, LoadState(state))

    # ---- figures

    def get_status(self) -> dict[str, Any]:
        """What is going on: from the workers themselves where they can tell, with the age of what they told."""
        workers = {
            worker: {
                **asdict(self.communicator.status(worker).read()),
                "pid": seat.process.pid,
                "alive": seat.process.is_alive(),
                "generation": self.communicator.generation(worker),
                "lag": self.version - self.communicator.status(worker).read().version,
            }
            for worker, seat in self._seats.items()
        }
        return {
            "active_workers": sum(worker["alive"] for worker in workers.values()),
            "queue_info": self.communicator.queue_info(),
            "workers": workers,
            "restarts": self.restarts,
            "version": self.version,
            "rows_received": self.communicator.rows_received,
            "rows_refused": self.rows_refused,
            "rows_lost": self.communicator.slots_lost * self._shape.rows,
            "syncs": self._learner_weights.syncs,
            "sync_seconds": self._learner_weights.sync_seconds,
        }


def resolve_workers(config: AppConfig) -> int:
    """The number of workers that a configuration means on this machine."""
    wanted = config.parallel.num_workers
    if wanted != "auto":
        return wanted
    from keisei.core.devices import choose_device

    if choose_device(config.training.device).type != "cpu":
        return 0
    cores = os.cpu_count() or 1
    return max((n for n in range(1, cores + 1) if config.env.num_games % n == 0), default=1)


def _games_per_worker(config: AppConfig, workers: int) -> int:
    games, wanted = config.env.num_games, config.parallel.games_per_worker
    share = wanted or games // workers
    if share < 1 or games % share or (not wanted and games % workers):
        raise ConfigError(
            f"env.num_games {games} cannot be shared out to parallel.num_workers {workers}"
            + (f" with parallel.games_per_worker {wanted}" if wanted else "")
            + "; make env.num_games a multiple"
        )
    return share


def worker_configs(config: AppConfig) -> dict[int, AppConfig]:
    """The configurations of the workers that have settings of their own."""
    configs: dict[int, AppConfig] = {}
    for entry in config.parallel.worker_overrides:
        place = f"in parallel.worker_overrides {entry!r}"
        matched = OVERRIDE_ENTRY.fullmatch(entry.strip())
        if matched is None:
            raise ConfigError(f"expected 'WORKER: key=value ...' or 'FIRST-LAST: key=value ...' {place}")
        settings = dict(pair.split("=", 1) for pair in matched["settings"].split())
        foreign = sorted(key for key in settings if not key.startswith(OVERRIDABLE))
        if foreign:
            raise ConfigError(
                f"{foreign[0]!r} {place} cannot differ between workers; {', '.join(OVERRIDABLE)} can"
            )
        first, last = int(matched["first"]), int(matched["last"] or matched["first"])
        for worker in range(first, last + 1):
            configs[worker] = overridden(configs.get(worker, config), settings, place)
    return configs


#: Settings that may differ between workers: what they play, not what is learned.
OVERRIDABLE = ("env.starts.", "training.opponents.share", "training.temperature", "training.flip")
OVERRIDE_ENTRY = re.compile(r"(?P<first>\d+)(?:-(?P<last>\d+))?:\s*(?P<settings>\S+=\S+(?:\s+\S+=\S+)*)")


def _slots_per_worker(config: AppConfig, slots_per_update: int, workers: int) -> int:
    needed = -(-slots_per_update // workers)
    if config.parallel.mode == "async":
        needed = max(needed, config.parallel.max_lag)
    return max(needed, config.parallel.queue_size)


def _check_memory(shape: SlotShape, slots: int, workers: int) -> None:
    needed = workers * (slots * shape.nbytes + WORKER_MEMORY_BYTES)
    available = psutil.virtual_memory().available
    if needed > available:
        raise ConfigError(
            f"{workers} workers need about {needed / 2**30:.1f} GiB (parallel.num_workers, env.num_games, "
            f"training.rollout_plies), but {available / 2**30:.1f} GiB are free; lower parallel.num_workers"
        )


#: What a worker process takes besides its slots: Python and PyTorch without a GPU, measured at about 250 MiB.
WORKER_MEMORY_BYTES = 250 * 2**20


def _seed(config: AppConfig, worker: int, generation: int) -> int:
    """The first life of worker 0 plays the very games of a run without workers; no two lives play the same."""
    first = config.training.seed + worker * config.parallel.seed_offset
    if generation == 1:
        return first
    return int(np.random.SeedSequence([first, generation]).generate_state(1, np.uint64)[0] >> 1)
