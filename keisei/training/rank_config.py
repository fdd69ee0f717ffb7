"""From the settings of a run to those of one rank: its share of the games and rows, and who keeps the record.

The settings mean the same on any number of ranks: `env.num_games` and `training.minibatch_size` are those of all ranks
together.
"""

from __future__ import annotations

import numpy as np

from keisei.config_schema import AppConfig, RecordConfig, TrainingConfig
from keisei.core.rank_place import RankPlace
from keisei.errors import ConfigError
from keisei.record.machine_limits import available_cores

ONE_GPU = "cuda:"


def check_shares(config: AppConfig, place: RankPlace) -> None:
    """Refuses settings that the ranks cannot share."""
    if place.is_alone:
        return
    shared = {
        "env.num_games": config.env.num_games,
        "training.minibatch_size": config.training.minibatch_size,
    }
    for name, number in shared.items():
        if number % place.count:
            fitting = max(1, number // place.count) * place.count
            raise ConfigError(
                f"{name} {number} cannot be shared out evenly to the {place.count} processes that torchrun started; "
                f"make it a multiple, {fitting} say"
            )
    workers = config.parallel.num_workers
    if workers not in ("auto", 0):
        raise ConfigError(
            f"parallel.num_workers is {workers!r}, but each of the {place.count} processes that torchrun started plays "
            "its games itself; set parallel.num_workers to 0 or auto"
        )
    if config.training.device.startswith(ONE_GPU):
        raise ConfigError(
            f"training.device {config.training.device!r} is one GPU, but each of the {place.count} processes that "
            "torchrun started needs its own; set training.device to cuda or auto"
        )


def config_of_rank(config: AppConfig, place: RankPlace, update: int) -> AppConfig:
    """The settings by which one rank plays and learns in a run that begins or goes on after ``update`` updates."""
    check_shares(config, place)
    if place.is_alone:
        return config
    env, training, parallel = config.env, config.training, config.parallel
    changed = config.model_copy(
        update={
            "env": env.model_copy(
                update={
                    "num_games": env.num_games // place.count,
                    "num_threads": _threads(place) if env.num_threads == "auto" else env.num_threads,
                }
            ),
            "training": training.model_copy(
                update={
                    "minibatch_size": training.minibatch_size // place.count,
                    "device": _device(training.device, place),
                    "seed": _seed(training.seed, place, update),
                }
            ),
            "parallel": parallel.model_copy(update={"num_workers": 0}),
        }
    )
    return changed if place.is_first else _without_record(changed)


def _threads(place: RankPlace) -> int:
    return max(1, available_cores() // place.local_count)


def _device(name: str, place: RankPlace) -> str:
    from keisei.core.devices import choose_device

    if choose_device(name).type == "cpu":
        return "cpu"
    return f"{ONE_GPU}{place.local_rank}"


def _seed(seed: int, place: RankPlace, update: int) -> int:
    """The first rank's is the run's. No two ranks play the same games, nor one rank after it was resumed.

    Not by parallel.seed_offset: a rank's own parts are that far from each other.
    """
    if place.is_first:
        return seed
    mixed = np.random.SeedSequence([seed, place.rank, update])
    return int(mixed.generate_state(1, np.uint64)[0] >> 1)


def _without_record(config: AppConfig) -> AppConfig:
    """For a rank that only plays and learns: what the first rank shows, keeps, measures and decides is off."""
    quiet_training: dict[str, object] = {
        "checkpoint_interval_updates": 0,
        "checkpoint_interval_seconds": 0.0,
        "profile": False,
        "guard": config.training.guard.model_copy(update={"patience_updates": 0, "max_rollbacks": 0}),
    }
    quiet_record: dict[str, object] = {"console": "off", "games_kept_per_update": 0, "trackers": ()}
    training: TrainingConfig = config.training.model_copy(update=quiet_training)
    record: RecordConfig = config.record.model_copy(update=quiet_record)
    evaluation = config.evaluation.model_copy(update={"opponents": (), "interval_updates": 0})
    return config.model_copy(update={"training": training, "record": record, "evaluation": evaluation})
