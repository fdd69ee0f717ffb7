"""A real training run on a GPU, watched from outside: speed by update, and how long the card had nothing to do."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median

from torch.profiler import ProfilerActivity, profile

from keisei.config_loader import overridden
from keisei.config_schema import AppConfig
from keisei.record.run_directory import RunDirectory
from keisei.training.events import UpdateFinished
from keisei.training.trainer import Trainer

#: Updates before measuring: compilers, tuning, first games.
WARM_UP_UPDATES = 20
#: Updates whose kernels are summed up at the end; their own speed does not count.
PROFILED_UPDATES = 2
#: Updates whose mean speed is one figure.
GROUP = 5


@dataclass
class RunFigures:
    """What a run showed; lists hold one value for each group of updates, or each update."""

    plies_per_second: list[float] = field(default_factory=list)
    uploaded_bytes: list[float] = field(default_factory=list)
    ratio_deviations: list[float] = field(default_factory=list)
    idle_share: float = 0.0


def measured_run(config: AppConfig, folder: Path, updates: int) -> RunFigures:
    """Trains for so many updates, besides those to warm up and those that are profiled."""
    watch = _Watch(updates)
    last = WARM_UP_UPDATES + updates + PROFILED_UPDATES
    settings = {
        "training.total_plies": last * config.rollout_rows,
        "training.time_limit_seconds": 0.0,
        "training.checkpoint_interval_seconds": 0.0,
        "training.checkpoint_interval_updates": 0,
        "evaluation.opponents": [],
        "record.console": "off",
    }
    chosen = overridden(config, settings, "in the benchmark")
    Trainer(chosen, RunDirectory.create(folder), callbacks=[watch]).train()
    return watch.figures()


class _Watch:
    """Listens to a run."""

    def __init__(self, updates: int) -> None:
        self._last_measured = WARM_UP_UPDATES + updates
        self._times: list[tuple[int, float]] = []
        self._uploaded: list[float] = []
        self._deviations: list[float] = []
        self._profile = profile(activities=[ProfilerActivity.CUDA])
        self._busy_seconds = 0.0

    def __call__(self, event: object) -> None:
        if not isinstance(event, UpdateFinished):
            return
        if WARM_UP_UPDATES <= event.update <= self._last_measured:
            self._times.append((event.plies, time.perf_counter()))
            self._uploaded.append(event.metrics.get("uploaded_bytes_per_ply", 0.0))
            self._deviations.append(event.metrics["first_ratio_deviation"])
        if event.update == self._last_measured:
            self._profile.start()
        elif event.update == self._last_measured + PROFILED_UPDATES:
            self._profile.stop()
            self._busy_seconds = _busy_seconds(self._profile) / PROFILED_UPDATES

    def figures(self) -> RunFigures:
        speeds = [
            (plies - earlier_plies) / (moment - earlier)
            for (earlier_plies, earlier), (plies, moment) in zip(
                self._times[::GROUP], self._times[GROUP::GROUP], strict=False
            )
        ]
        (first_plies, began), (last_plies, ended) = self._times[0], self._times[-1]
        update_seconds = median(later - earlier for (_, earlier), (_, later) in pairwise(self._times))
        return RunFigures(
            plies_per_second=speeds or [(last_plies - first_plies) / (ended - began)],
            uploaded_bytes=self._uploaded,
            ratio_deviations=self._deviations,
            idle_share=max(0.0, 1 - self._busy_seconds / update_seconds),
        )


def _busy_seconds(profiled: profile) -> float:
    """Time in which at least one kernel or copy ran on the card."""
    spans = sorted(
        (event.time_range.start, event.time_range.end)
        for event in profiled.events() or ()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        if event.device_type.name == "CUDA"
    )
    busy, reached = 0.0, float("-inf")
    for start, end in spans:
        busy += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return busy / 1e6
