"""Runs that take a fraction of a second: the settings, a listener, and what a checkpoint holds, as one hash."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from keisei.config_loader import load_config
from keisei.config_schema import AppConfig
from keisei.core.checkpoint import Checkpoint, CheckpointFolder
from keisei.record.run_directory import RunDirectory
from keisei.training.events import TrainingEvent, UpdateFinished
from keisei.training.trainer import Trainer, TrainingReport

GAMES, PLIES = 8, 8
ROWS = GAMES * PLIES

# Endgames with a low cap: within a few updates games are won, lost and cut off.
TINY: Mapping[str, object] = {
    "env.num_games": GAMES,
    "env.num_threads": 1,
    "env.max_plies": 24,
    "env.starts.standard": 0,
    "env.starts.random_prefix": 0,
    "env.starts.earlier": 0.2,
    "env.starts.sfens": 1,
    "env.starts.sfen_file": Path(__file__).parent / "data" / "endgames.sfen",
    "model.architecture": "cnn",
    "model.blocks": 1,
    "model.channels": 8,
    "model.se_ratio": 0,
    "parallel.num_workers": 0,
    "training.device": "cpu",
    "training.rollout_plies": PLIES,
    "training.minibatch_size": 32,
    "training.time_limit_seconds": 0,
    "training.opponents.share": 0.5,
    "training.opponents.snapshot_interval_updates": 2,
    "evaluation.opponents": [],
    "record.console": "off",
}

Event = TypeVar("Event", bound=TrainingEvent)

# Each step moves every weight as far as it can, and nothing but the policy's loss holds it: entropy falls to 0.
COLLAPSING: Mapping[str, object] = {
    "env__max_plies": 512,
    "training__learning_rate": 1.0,
    "training__learning_rate_schedule": "constant",
    "training__minibatch_size": 8,
    "training__entropy_weight": 0,
    "training__entropy_weight_end": 0,
    "training__value_weight": 0,
    "training__auxiliary_weight": 0,
    "training__target_kl": 0,
    "training__guard__patience_updates": 3,
}


def tiny_config(updates: int = 3, **changes: object) -> AppConfig:
    """``changes`` by dotted key, with ``__`` for the dot."""
    named = {key.replace("__", "."): value for key, value in changes.items()}
    return load_config(None, {**TINY, "training.total_plies": updates * ROWS, **named}).config


def tiny_options(updates: int = 3, **changes: object) -> list[str]:
    """The same settings for the command line."""
    named = {key.replace("__", "."): value for key, value in changes.items()}
    settings = {**TINY, "training.total_plies": updates * ROWS, **named}
    return [
        f"--{key}={str(value).lower() if isinstance(value, bool) else value}"
        for key, value in settings.items()
    ]


@dataclass
class Listener:
    """A callback that remembers what it was told."""

    events: list[TrainingEvent] = field(default_factory=list)

    def __call__(self, event: TrainingEvent) -> None:
        self.events.append(event)

    def of(self, kind: type[Event]) -> list[Event]:
        return [event for event in self.events if isinstance(event, kind)]

    def updates_of(self, kind: type[Event]) -> list[int]:
        return [event.update for event in self.of(kind)]


@dataclass
class StopAfter:
    """Asks a run to stop once it has finished so many updates; also a callback."""

    updates: int
    seen: int = 0

    def listen(self, event: TrainingEvent) -> None:
        if isinstance(event, UpdateFinished):
            self.seen = event.update

    def __call__(self) -> bool:
        return self.seen >= self.updates


def train(
    run: RunDirectory,
    config: AppConfig,
    *callbacks: Callable[[TrainingEvent], Any],
    resume: bool = False,
    stop_after: int | None = None,
) -> TrainingReport:
    stop = StopAfter(updates=10**9 if stop_after is None else stop_after)
    trainer = Trainer(config, run, should_stop=stop, callbacks=[stop.listen, *callbacks])
    return trainer.train(resume=resume)


def latest(run: RunDirectory) -> Checkpoint:
    return CheckpointFolder(run.checkpoints_path).latest_good().checkpoint


def content_hash(checkpoint: Checkpoint) -> str:
    """Of every tensor and all state, except how long it took."""
    digest = hashlib.sha256()
    for group in sorted(checkpoint.tensors):
        for name, tensor in sorted(checkpoint.tensors[group].items()):
            digest.update(f"{group}/{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
            digest.update(tensor.contiguous().numpy().tobytes())
    state = json.loads(json.dumps(checkpoint.state))
    del state["metrics"]["phase_seconds"]
    digest.update(json.dumps(state, sort_keys=True).encode())
    return digest.hexdigest()


def new_run(folder: Path, name: str = "run") -> RunDirectory:
    return RunDirectory.create(folder, name)
