"""Small configurations and helpers for the tests of this folder."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch
from process_watch import PATIENCE_SECONDS
from stand_in_worker import Life, StandInWorker

from keisei.config_loader import load_config
from keisei.config_schema import AppConfig
from keisei.core.model_factory import model_factory
from keisei.core.networks import ActorCritic
from keisei.shogi.policy import action_count
from keisei.training.parallel.communication import WorkerEnd
from keisei.training.parallel.self_play_worker import WorkerJob
from keisei.training.parallel.worker_plan import GENERATION_SHIFT

GAMES_PER_WORKER, PLIES = 4, 6


def sample_config(num_workers: int | str = 2, **changes: object) -> AppConfig:
    """Few games, a tiny network; ``changes`` are settings with ``__`` for the dot."""
    workers = num_workers if isinstance(num_workers, int) else 1
    overrides: dict[str, object] = {
        "parallel.num_workers": num_workers,
        "env.num_games": GAMES_PER_WORKER * max(1, workers),
        "env.num_threads": 1,
        "env.max_plies": 60,
        "model.architecture": "cnn",
        "model.blocks": 1,
        "model.channels": 8,
        "training.rollout_plies": PLIES,
        "training.minibatch_size": 4,
        "training.epochs": 1,
        "training.time_limit_seconds": 0,
        "training.opponents.share": 0.0,
        "evaluation.opponents": [],
        "record.console": "off",
    }
    overrides |= {key.replace("__", "."): value for key, value in changes.items()}
    return load_config(None, overrides).config


def network(config: AppConfig, seed: int = 0) -> ActorCritic:
    torch.manual_seed(seed)
    return model_factory(config.model, action_count(config.env.actions))


def until(condition: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> float:
    """Waits for another process to bring about a condition; returns how long it took."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > seconds:
            raise AssertionError(f"waited {seconds} s in vain")
        time.sleep(0.001)  # leaves the processor to the process that is waited for
    return time.monotonic() - began


@dataclass
class StandIns:
    """Launches stand-in workers and remembers when."""

    ledger: Path
    launched: dict[tuple[int, int], float] = field(default_factory=dict)

    def __call__(self, job: WorkerJob, end: WorkerEnd, *_weights: object) -> StandInWorker:
        generation = (job.first_game >> GENERATION_SHIFT & 0xFFFF) + 1
        self.launched[job.worker, generation] = time.monotonic()
        life = Life(job.worker, generation, job.games, job.seed, job.first_game)
        return StandInWorker(life, end, self.ledger)
