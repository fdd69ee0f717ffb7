"""What trackers cost a run: training speed without any, with TensorBoard and W&B offline, and with a W&B server that
never answers, in turn. The speed is that between the first and the last update of a run; starting is not part of it.
"""

from __future__ import annotations

import argparse
import os
import socket
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from figures import Figures

from keisei.config_loader import load_config, parse_override_tokens
from keisei.record.journal_reader import JournalReader
from keisei.record.run_directory import RunDirectory
from keisei.training.trainer import Trainer

NONE, OFFLINE, SILENT = "no tracker", "TensorBoard and W&B offline", "W&B whose server never answers"
LEAST_UPDATES = 5
TRACKERS = {NONE: [], OFFLINE: ["tensorboard", "wandb"], SILENT: ["wandb"]}


@contextmanager
def environment(kind: str) -> Iterator[None]:
    """W&B's variables for one kind of run."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        os.environ.pop("WANDB_MODE", None)
        os.environ["WANDB_API_KEY"] = "a" * 40
        os.environ["WANDB_BASE_URL"] = f"http://127.0.0.1:{silent.getsockname()[1]}"
        if kind == OFFLINE:
            os.environ["WANDB_MODE"] = "offline"
        yield


def speed(kind: str, seconds: float, overrides: dict[str, object]) -> tuple[float, float]:
    """Plies a second of a run, and the trainer's own seconds for callbacks as a share of all."""
    settings = {
        **overrides,
        "training.time_limit_seconds": seconds,
        "training.total_plies": 10**9,
        "evaluation.opponents": [],
        "record.console": "off",
        "record.trackers": TRACKERS[kind],
        "record.tracker_finish_seconds": 10,
    }
    with tempfile.TemporaryDirectory() as folder, environment(kind):
        run = RunDirectory.create(Path(folder), "run")
        Trainer(load_config(None, settings).config, run).train()
        with JournalReader(run.journal_path) as journal:
            points = journal.series("loss")
            phases = [name for name in journal.metric_names() if name.startswith("seconds_")]
            spent = {name: sum(point.value for point in journal.series(name)) for name in phases}
    if len(points) < LEAST_UPDATES:
        raise SystemExit(
            f"only {len(points)} updates in {seconds:g} s: raise --seconds, or make updates smaller"
        )
    first, last = points[0], points[-1]
    share = spent.get("seconds_callbacks", 0.0) / sum(spent.values())
    return (last.plies - first.plies) / (last.time - first.time), share


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each run")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--results", type=Path, default=None, help="file to append the table to")
    arguments, settings = parser.parse_known_args()
    overrides: dict[str, object] = dict(parse_override_tokens(settings))
    figures = Figures()
    ratios: dict[str, list[float]] = {kind: [] for kind in TRACKERS if kind != NONE}
    for _ in range(arguments.repetitions):
        plain, _ = speed(NONE, arguments.seconds, overrides)
        figures.note("training speed", NONE, "plies/s", plain)
        for kind, values in ratios.items():
            tracked, share = speed(kind, arguments.seconds, overrides)
            figures.note("training speed", kind, "plies/s", tracked)
            figures.note("share of the trainer's time for callbacks", kind, "", share)
            values.append(tracked / plain)
    for kind, values in ratios.items():
        figures.add("speed, share of that without trackers", kind, "×", values)
        print(f"{kind}: median {statistics.median(values):.4f} of the speed without trackers")
    figures.finish(arguments.results)


if __name__ == "__main__":
    main()
