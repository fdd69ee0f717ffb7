"""Where the time of a training run goes: phases of the loop, then the operations of the trainer's process.

    python benchmarks/profile_training.py --mode parallel --workers 2 --timesteps 50000

Workers are processes of their own, which the profiler of this one does not see: how busy they are is said beside it.
Any setting can be given as --section.key value.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import torch.profiler
from figures import Figures

from keisei.config_loader import load_config, parse_override_tokens
from keisei.config_schema import AppConfig
from keisei.record.metrics import PHASE_PREFIX
from keisei.record.run_directory import RunDirectory
from keisei.training import Trainer
from keisei.training.events import TrainingEvent, UpdateFinished
from keisei.training.profiling import phase_table

OPERATIONS = 15


def profile(config: AppConfig) -> tuple[list[UpdateFinished], torch.profiler.profile]:
    """Trains in a folder of its own that is thrown away."""
    updates: list[UpdateFinished] = []

    def note(event: TrainingEvent) -> None:
        if isinstance(event, UpdateFinished):
            updates.append(event)

    with tempfile.TemporaryDirectory() as folder, torch.profiler.profile() as profiler:
        Trainer(config, RunDirectory.create(Path(folder)), callbacks=[note]).train()
    return updates, profiler


def phases_of(updates: Sequence[UpdateFinished]) -> dict[str, float]:
    seconds: Counter[str] = Counter()
    for update in updates:
        seconds.update(
            {
                name.removeprefix(PHASE_PREFIX): value
                for name, value in update.metrics.items()
                if name.startswith(PHASE_PREFIX)
            }
        )
    return dict(seconds)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mode", choices=("serial", "parallel"), default="serial")
    parser.add_argument("--workers", type=int, default=2, help="of the parallel mode")
    parser.add_argument("--timesteps", type=int, default=50_000, help="plies to train for")
    parser.add_argument("--config", type=Path, default=None, help="YAML file of the run to profile")
    parser.add_argument("--results", type=Path, default=None, help="file to append the figures to")
    options, settings = parser.parse_known_args(arguments)
    workers = options.workers if options.mode == "parallel" else 0
    config = load_config(
        options.config,
        {
            "evaluation.opponents": [],
            "record.console": "off",
            "training.time_limit_seconds": 0,
            "training.total_plies": options.timesteps,
            "parallel.num_workers": workers,
            **parse_override_tokens(settings),
        },
    ).config
    updates, profiler = profile(config)
    phases = phases_of(updates)
    print(profiler.key_averages().table(sort_by="self_cpu_time_total", row_limit=OPERATIONS))
    print(phase_table(phases))
    figures, subject = Figures(), f"{options.mode}, {workers} workers"
    last = updates[-1]
    figures.note(
        "profile: plies a second, profiler on", subject, "plies/s", last.plies / sum(phases.values())
    )
    for phase, seconds in phases.items():
        figures.note(f"profile: share of {phase}", subject, "%", 100 * seconds / sum(phases.values()))
    if workers:
        figures.note("profile: workers busy", subject, "%", 100 * last.metrics["worker_utilisation"])
    figures.finish(options.results)


if __name__ == "__main__":
    main()
