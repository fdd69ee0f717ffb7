"""From the configuration to workers: how many, which games each plays, how much memory it takes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

import numpy as np

from keisei.config_loader import overridden
from keisei.config_schema import MAX_WORKERS, AppConfig
from keisei.core.devices import choose_device
from keisei.core.model_factory import model_factory
from keisei.core.rollout_rows import RolloutRows, RowTargets
from keisei.errors import ConfigError
from keisei.record.machine_limits import available_cores, available_memory_bytes
from keisei.shogi.policy import action_count
from keisei.training.parallel.communication import SlotShape

#: What a worker process takes besides its slots and weights: Python and PyTorch without a GPU.
WORKER_MEMORY_BYTES = 250 * 2**20
#: Games are numbered by worker and by life of the worker, so that no two ever share a number.
WORKER_SHIFT = 48
GENERATION_SHIFT = 32
OPPONENT_NUMBER_BITS = 32
#: Settings that may differ between workers: what they play, not what is learned.
OVERRIDABLE = ("env.starts.", "training.opponents.share", "training.temperature", "training.flip")
OVERRIDE_ENTRY = re.compile(r"(?P<first>\d+)(?:-(?P<last>\d+))?:\s*(?P<settings>\S+=\S+(?:\s+\S+=\S+)*)")


@dataclass(frozen=True)
class WorkerPlan:
    """How one update is shared out. A slot is one rollout [T, games_per_worker]."""

    workers: int
    shape: SlotShape
    slots_per_update: int
    #: Slots that all workers together may have credit for or have filled before the learner wants them.
    slots_under_way: int
    slots_per_worker: int
    #: Versions by which rows may be older than the published weights.
    max_lag: int

    @classmethod
    def of(cls, config: AppConfig) -> Self:
        """The plan of a configuration; ConfigError when it cannot work."""
        workers = resolve_workers(config)
        if workers < 1:
            raise ConfigError("parallel.num_workers is 0: there are no workers to manage; play in-process")
        return cls.for_workers(config, workers)

    @classmethod
    def for_workers(cls, config: AppConfig, workers: int) -> Self:
        """The same for so many workers, whatever the configuration says of their number."""
        parallel, is_async = config.parallel, config.parallel.mode == "async"
        games = _games_per_worker(config, workers)
        slots = config.env.num_games // games
        check_worker_count(workers, slots)
        under_way = slots * parallel.max_lag if is_async else slots
        return cls(
            workers=workers,
            shape=SlotShape(config.training.rollout_plies, games),
            slots_per_update=slots,
            slots_under_way=under_way,
            slots_per_worker=max(-(-under_way // workers), parallel.queue_size),
            max_lag=parallel.max_lag if is_async else 0,
        )

    def needed_bytes(self, workers: int, weights_bytes: int) -> int:
        """About how much memory so many workers take."""
        each = WORKER_MEMORY_BYTES + self.slots_per_worker * self.shape.nbytes + 2 * weights_bytes
        return workers * each

    @property
    def learner_bytes(self) -> int:
        """What the trainer itself keeps of an update."""
        update = self.slots_per_update * self.shape.rows
        return update * (RolloutRows.bytes_per_row() + RowTargets.bytes_per_row())

    def check_memory(self, weights_bytes: int) -> None:
        """Refuses workers that the machine has no memory for, before any of them exists."""
        self._check_free(self.workers, self.needed_bytes(self.workers, weights_bytes) + self.learner_bytes)

    def check_memory_for_more(self, workers: int, weights_bytes: int) -> None:
        """The same for workers that join a run, whose trainer has its rows already."""
        self._check_free(workers, self.needed_bytes(workers, weights_bytes))

    def _check_free(self, workers: int, needed: int) -> None:
        available = available_memory_bytes()
        if needed > available:
            raise ConfigError(
                f"{workers} workers and the rows of an update need about {needed / 2**30:.1f} GiB, but "
                f"{available / 2**30:.1f} GiB are free; lower parallel.num_workers ({workers}), env.num_games "
                f"or training.rollout_plies ({self.shape.plies})"
            )


def resolve_workers(config: AppConfig) -> int:
    """The number of workers that a configuration means on this machine; 0 is in-process."""
    wanted = config.parallel.num_workers
    if wanted != "auto":
        return wanted
    if choose_device(config.training.device).type != "cpu":
        return 0
    cores, free, weights = available_cores(), available_memory_bytes(), _weights_bytes(config)
    most = next((n for n in range(cores, 0, -1) if _fits(config, n, weights, free)), 0)
    # On several cores one process with threads is faster than one worker without.
    return 0 if most == 1 < cores else most


def _fits(config: AppConfig, workers: int, weights_bytes: int, free_bytes: int) -> bool:
    """Whether the games can be shared out to so many workers, and the workers have room."""
    try:
        plan = WorkerPlan.for_workers(config, workers)
    except ConfigError:
        return False
    return plan.needed_bytes(workers, weights_bytes) + plan.learner_bytes <= free_bytes


def _weights_bytes(config: AppConfig) -> int:
    network = model_factory(config.model, action_count(config.env.actions))
    return sum(tensor.nbytes for tensor in network.state_dict().values())


def check_worker_count(workers: int, slots_per_update: int) -> None:
    """Refuses workers that would never have anything to do."""
    if workers > slots_per_update:
        raise ConfigError(
            f"{workers} workers cannot share the {slots_per_update} slots of an update; raise env.num_games, or "
            "lower parallel.games_per_worker (a slot holds so many games) or parallel.num_workers"
        )


def worker_configs(config: AppConfig) -> dict[int, AppConfig]:
    """The configurations of the workers that have settings of their own."""
    configs: dict[int, AppConfig] = {}
    for entry in config.parallel.worker_overrides:
        place = f"in parallel.worker_overrides {entry!r}"
        matched = OVERRIDE_ENTRY.fullmatch(entry.strip())
        if matched is None:
            raise ConfigError(f"expected 'WORKER: key=value ...' or 'FIRST-LAST: key=value ...' {place}")
        settings = dict(pair.split("=", 1) for pair in matched["settings"].split())
        first = int(matched["first"])
        for worker in _overridden_workers(config, first, int(matched["last"] or first), place):
            configs[worker] = overridden(configs.get(worker, config), settings, place)
        foreign = sorted(key for key in settings if not key.startswith(OVERRIDABLE))
        if foreign:
            raise ConfigError(
                f"{foreign[0]!r} {place} cannot differ between workers; {', '.join(OVERRIDABLE)} can"
            )
    return configs


def _overridden_workers(config: AppConfig, first: int, last: int, place: str) -> range:
    """The workers that an override names. How many `auto` means is known to the machine alone."""
    wanted = config.parallel.num_workers
    count = MAX_WORKERS if wanted == "auto" else wanted
    if not first <= last < count:
        raise ConfigError(
            f"expected workers from 0 to {count - 1}, the lower number first, {place}; correct the numbers or raise "
            f"parallel.num_workers ({wanted})"
        )
    return range(first, last + 1)


def worker_seed(config: AppConfig, worker: int, generation: int) -> int:
    """The first life of worker 0 plays the very games of a run without workers; no two lives of a manager are alike."""
    first = config.training.seed + worker * config.parallel.seed_offset
    if generation == 1:
        return first
    return int(np.random.SeedSequence([first, generation]).generate_state(1, np.uint64)[0] >> 1)


def opponent_version(publication: int, number: int) -> int:
    """The version under which a frozen opponent is published: it grows, and tells which opponent it is."""
    return publication << OPPONENT_NUMBER_BITS | number


def opponent_number(version: int) -> int:
    """Which frozen opponent was published under a version."""
    return version & (1 << OPPONENT_NUMBER_BITS) - 1


def first_game(worker: int, generation: int) -> int:
    """The number of the first game of a worker's life."""
    return worker << WORKER_SHIFT | generation - 1 << GENERATION_SHIFT


def _games_per_worker(config: AppConfig, workers: int) -> int:
    games, wanted = config.env.num_games, config.parallel.games_per_worker
    if wanted and games % wanted:
        raise ConfigError(
            f"env.num_games {games} is no multiple of parallel.games_per_worker {wanted}; change one of them"
        )
    if not wanted and games % workers:
        raise ConfigError(
            f"env.num_games {games} cannot be shared out evenly to parallel.num_workers {workers}; make it a multiple"
        )
    return wanted or games // workers
