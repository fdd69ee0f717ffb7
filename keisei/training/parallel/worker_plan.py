"""From the configuration to workers: how many, which games each plays, how much memory it takes."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Self

import numpy as np

from keisei.config_loader import overridden
from keisei.config_schema import AppConfig
from keisei.core.rollout_rows import RolloutRows, RowTargets
from keisei.errors import ConfigError
from keisei.training.parallel.communication import SlotShape
from keisei.training.parallel.shared_memory import available_memory_bytes

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
    #: Async: slots that a worker may fill ahead of the learner.
    slots_ahead: int
    slots_per_worker: int
    #: Versions by which rows may be older than the published weights.
    max_lag: int

    @classmethod
    def of(cls, config: AppConfig) -> Self:
        """The plan of a configuration; ConfigError when it cannot work."""
        parallel, is_async = config.parallel, config.parallel.mode == "async"
        workers = resolve_workers(config)
        if workers < 1:
            raise ConfigError("parallel.num_workers is 0: there are no workers to manage; play in-process")
        if is_async and parallel.model_sync_interval > 1:
            raise ConfigError(
                f"parallel.model_sync_interval {parallel.model_sync_interval} contradicts parallel.mode 'async', "
                "whose lag is counted in publications; set it to 1"
            )
        games = _games_per_worker(config, workers)
        slots = config.env.num_games // games
        check_worker_count(workers, slots)
        share = -(-slots // workers)
        ahead = share * parallel.max_lag if is_async else share
        return cls(
            workers=workers,
            shape=SlotShape(config.training.rollout_plies, games),
            slots_per_update=slots,
            slots_ahead=ahead,
            slots_per_worker=max(ahead, parallel.queue_size),
            max_lag=parallel.max_lag if is_async else 0,
        )

    def check_memory(self, workers: int, weights_bytes: int) -> None:
        """Refuses workers that the machine has no memory for, before any of them exists."""
        each = WORKER_MEMORY_BYTES + self.slots_per_worker * self.shape.nbytes + 2 * weights_bytes
        update = self.slots_per_update * self.shape.rows
        learner = update * (RolloutRows.bytes_per_row() + RowTargets.bytes_per_row())
        needed, available = workers * each + learner, available_memory_bytes()
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
    from keisei.core.devices import choose_device

    if choose_device(config.training.device).type != "cpu":
        return 0
    most = min(_available_cores(), available_memory_bytes() // WORKER_MEMORY_BYTES)
    return max((n for n in range(1, most + 1) if config.env.num_games % n == 0), default=0)


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
        foreign = sorted(key for key in settings if not key.startswith(OVERRIDABLE))
        if foreign:
            raise ConfigError(
                f"{foreign[0]!r} {place} cannot differ between workers; {', '.join(OVERRIDABLE)} can"
            )
        first, last = int(matched["first"]), int(matched["last"] or matched["first"])
        for worker in range(first, last + 1):
            configs[worker] = overridden(configs.get(worker, config), settings, place)
    return configs


def worker_seed(config: AppConfig, worker: int, generation: int) -> int:
    """The first life of worker 0 plays the very games of a run without workers; no two lives play the same."""
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


def _available_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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
