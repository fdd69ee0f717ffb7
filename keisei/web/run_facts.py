"""What a run's folder and the operating system say: who trains it, its checkpoints, its goal, its memory."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, Self

import psutil
import yaml

from keisei.record.run_directory import RunDirectory
from keisei.web.gpu_facts import GpuFacts

CHECKPOINT_MARK: Final = "manifest.json"


@dataclass(frozen=True)
class Goal:
    """When the run will end by itself; 0 seconds is no limit."""

    total_plies: int
    time_limit_seconds: float


@dataclass(frozen=True)
class RunFacts:
    """The facts at one moment."""

    trainer_pid: int | None
    memory_bytes: int | None
    """Of the trainer and its workers; None when nobody trains."""
    cpu_share: float
    """Of the whole machine, since somebody asked last."""
    checkpoints: tuple[Path, ...]
    """Checkpoint folders, oldest first; whoever loads one verifies it."""
    goal: Goal | None
    gpu: GpuFacts | None

    @classmethod
    def gather(cls, run: RunDirectory) -> Self:
        """Look at the folder and at the trainer's processes."""
        pid = run.trainer_pid
        marks = run.checkpoints_path.glob(f"*/{CHECKPOINT_MARK}")
        checkpoints = tuple(sorted(mark.parent for mark in marks))
        return cls(
            pid,
            None if pid is None else _memory_of(pid),
            psutil.cpu_percent() / 100,
            checkpoints,
            _goal_of(run.config_path),
            GpuFacts.gather(),
        )


def _memory_of(pid: int) -> int | None:
    try:
        trainer = psutil.Process(pid)
        family = [trainer, *trainer.children(recursive=True)]
        return sum(process.memory_info().rss for process in family)
    except psutil.Error:  # one of them has just ended
        return None


def _goal_of(config: Path) -> Goal | None:
    try:
        return _read_goal(config, config.stat().st_mtime_ns)
    except (OSError, ValueError, TypeError, KeyError, yaml.YAMLError):
        return None


@lru_cache(maxsize=64)
def _read_goal(config: Path, _changed: int) -> Goal:
    settings = yaml.safe_load(config.read_text(encoding="utf-8"))["training"]
    return Goal(int(settings["total_plies"]), float(settings["time_limit_seconds"]))
