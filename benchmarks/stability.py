"""Kills and stops workers at random while rows are collected, and says what it cost.

    python benchmarks/stability.py --duration 3600

Every slot is checked: its place in the ledger of (worker, life, number), the numbering of its games, the legality of
every move. A stop is a SIGSTOP: the worker lives, but does nothing any more.
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import psutil
from figures import Figures

from keisei.config_loader import load_config, parse_override_tokens
from keisei.config_schema import AppConfig
from keisei.core.experience_buffer import ExperienceBuffer
from keisei.core.model_factory import model_factory
from keisei.shogi.policy import action_count
from keisei.shogi.positions import legal_masks
from keisei.training.parallel import ParallelManager
from keisei.training.parallel.parallel_manager import ExperienceBatch
from keisei.training.parallel.shared_memory import NAMED_SEGMENTS

STOP_SHARE = 1 / 6
#: Without a complete update for so long, something hangs.
HANG_SECONDS = 120.0
SETTINGS = {
    "env.num_games": 64,
    "training.rollout_plies": 32,
    "model.architecture": "cnn",
    "model.blocks": 1,
    "model.channels": 8,
    "parallel.restart_budget": 100_000,
    "parallel.heartbeat_timeout_seconds": 3,
}


class Ledger:
    """Checks that nothing is lost, doubled or damaged on the way."""

    def __init__(self, config: AppConfig) -> None:
        self._num_actions = action_count(config.env.actions)
        self._buffer = ExperienceBuffer(config.rollout_rows)
        self._last: Counter[tuple[int, int]] = Counter()
        self.slots = self.doubled = self.skipped = self.corrupt = 0

    def note(self, batch: ExperienceBatch) -> None:
        life = (batch.worker, batch.generation)
        expected = self._last[life] + 1
        self.doubled += batch.sequence < expected
        self.skipped += max(0, batch.sequence - expected)
        self._last[life] = batch.sequence
        self.slots += 1
        self._buffer.clear()
        self._buffer.add_batch(batch.rows)  # refuses games that are numbered wrongly
        records = batch.rows.record.reshape(batch.rows.action.size, -1)
        masks = legal_masks(np.ascontiguousarray(records), self._num_actions, num_threads=1)
        self.corrupt += int((~masks[np.arange(len(masks)), batch.rows.action.ravel()]).sum())


class Trial:
    """A manager under fire."""

    def __init__(self, config: AppConfig, seed: int) -> None:
        self.manager = ParallelManager(config)
        self._weights = model_factory(config.model, action_count(config.env.actions)).state_dict()
        self._dice = random.Random(seed)
        self.ledger = Ledger(config)
        self.kills = self.stops = 0
        self.recoveries: list[float] = []
        self.stop_recoveries: list[float] = []

    def update(self) -> None:
        """One whole update."""
        self.manager.sync_model_to_workers(self._weights)
        self._note(self.manager.collect_experiences(0))
        self._finish_update()

    def _finish_update(self) -> None:
        began = time.monotonic()
        while not self.manager.update_complete:
            self._note(self.manager.collect_experiences(1))
            self._refuse_hang(began)

    def _note(self, batches: Sequence[ExperienceBatch]) -> None:
        for batch in batches:
            self.ledger.note(batch)

    def _refuse_hang(self, began: float) -> None:
        if time.monotonic() - began > HANG_SECONDS:
            raise SystemExit(f"a hang: waited {HANG_SECONDS:.0f} s in vain; {self.manager.get_status()}")

    def hit(self) -> None:
        """Hits one worker in the middle of an update, and waits for the process that replaces it."""
        worker = self._dice.choice(self.manager.communicator.workers)
        is_stop = self._dice.random() < STOP_SHARE
        pid, generation = (self.manager.get_status()["workers"][worker][key] for key in ("pid", "generation"))
        self.manager.sync_model_to_workers(self._weights)
        batches = self.manager.collect_experiences(self._dice.random() * 0.1)
        began = time.monotonic()
        os.kill(pid, signal.SIGSTOP if is_stop else signal.SIGKILL)
        while self.manager.communicator.generation(worker) == generation:
            if self.manager.update_complete:
                self.manager.sync_model_to_workers(self._weights)
            batches += self.manager.collect_experiences(0.02)
            self._refuse_hang(began)
        seconds = time.monotonic() - began
        self._note(batches)
        if is_stop:
            self.stops += 1
            self.stop_recoveries.append(seconds)
        else:
            self.kills += 1
            self.recoveries.append(seconds)
        self._finish_update()


def footprint() -> dict[str, float]:
    """Memory of the trainer, descriptors, dead children and named segments."""
    process = psutil.Process()
    return {
        "memory": process.memory_info().rss,
        "descriptors": process.num_fds(),
        "zombies": sum(child.status() == psutil.STATUS_ZOMBIE for child in process.children()),
        "segments": len(list(NAMED_SEGMENTS.iterdir())) if NAMED_SEGMENTS.is_dir() else 0,
    }


def report(trial: Trial, before: dict[str, float], after: dict[str, float], subject: str) -> Figures:
    figures, status = Figures(), trial.manager.get_status()
    rows = trial.manager.plan.shape.rows
    counts = {
        "kills": trial.kills,
        "stops": trial.stops,
        "restarts": status["restarts"],
        "rows received": status["rows_received"],
        "rows lost with the dead and counted": status["rows_lost"],
        "rows refused and counted": status["rows_refused"],
        "rows doubled": trial.ledger.doubled * rows,
        "rows missing in the ledger": trial.ledger.skipped * rows - status["rows_refused"],
        "rows corrupt": trial.ledger.corrupt,
        "more descriptors than at the beginning": after["descriptors"] - before["descriptors"],
        "zombies": after["zombies"],
        "more entries in /dev/shm": after["segments"] - before["segments"],
    }
    for name, value in counts.items():
        figures.add(f"stability: {name}", subject, "", [value])
    growth = after["memory"] / before["memory"] - 1
    figures.add("stability: memory growth", subject, "%", [100 * growth])
    figures.add("stability: kill to replacement started", subject, "s", trial.recoveries)
    figures.add("stability: stop to replacement started", subject, "s", trial.stop_recoveries)
    return figures


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--duration", type=float, default=60.0, help="seconds")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, default=None, help="file to append the figures to")
    options, settings = parser.parse_known_args(arguments)
    logging.basicConfig(level="ERROR")
    overrides = {
        **SETTINGS,
        "parallel.num_workers": options.workers,
        "training.minibatch_size": 64,
        **parse_override_tokens(settings),
    }
    trial = Trial(load_config(None, overrides).config, options.seed)
    with trial.manager:
        for _ in range(3):
            trial.update()
        before = footprint()
        ends = time.monotonic() + options.duration
        while time.monotonic() < ends:
            trial.hit()
            trial.update()
        after = footprint()
        figures = report(trial, before, after, f"{options.workers} workers, {options.duration:.0f} s")
    figures.finish(options.results)


if __name__ == "__main__":
    main()
