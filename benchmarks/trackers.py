"""What trackers cost a run: without any, with TensorBoard and W&B offline, with a W&B server that never answers, and
with trackers whose process is killed again and again, in turn.

Three figures of each: the speed between the first and the last update against that without trackers, run by run; the
share of the run that the trainer itself spends on telling them; and the processor time of their processes.
"""

from __future__ import annotations

import argparse
import os
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import psutil
from figures import Figures

from keisei.config_loader import load_config, parse_override_tokens
from keisei.record.journal_reader import JournalReader
from keisei.record.metrics import PHASE_PREFIX
from keisei.record.run_directory import RunDirectory
from keisei.training.trainer import Trainer

NONE, OFFLINE, SILENT = "no tracker", "TensorBoard and W&B offline", "W&B whose server never answers"
DYING = "TensorBoard and W&B offline, killed every 4 s"
LEAST_UPDATES = 5
TRACKERS = {
    NONE: [],
    OFFLINE: ["tensorboard", "wandb"],
    SILENT: ["wandb"],
    DYING: ["tensorboard", "wandb"],
}
KILL_SECONDS = 4.0
LOOK_SECONDS = 0.25
#: By which the process of the trackers is known among the trainer's children.
CHILD = "keisei.record.trackers.child"


class Run(NamedTuple):
    """How one run went."""

    plies_per_second: float
    callback_share: float
    """Of the trainer's own time."""
    tracker_seconds: float
    """Processor time of the trackers' processes per second of the run."""


class TrackerWatch:
    """Counts the processor time of tracker processes and, if asked to, kills them."""

    def __init__(self, *, kills: bool) -> None:
        self._kills = kills
        self._used: dict[int, float] = {}
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    @property
    def seconds(self) -> float:
        return sum(self._used.values())

    def _watch(self) -> None:
        looks = 0
        while not self._is_over.wait(LOOK_SECONDS):
            looks += 1
            for process in psutil.Process().children():
                try:
                    if CHILD in " ".join(process.cmdline()):
                        self._look_at(
                            process, is_last=self._kills and looks * LOOK_SECONDS % KILL_SECONDS == 0
                        )
                except psutil.Error:  # it has just ended
                    continue

    def _look_at(self, process: psutil.Process, *, is_last: bool) -> None:
        for each in (process, *process.children(recursive=True)):
            self._used[each.pid] = sum(each.cpu_times()[:2])
        if is_last:
            process.kill()

    def __enter__(self) -> TrackerWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()


@contextmanager
def environment(kind: str) -> Iterator[None]:
    """W&B's variables for one kind of run."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        os.environ.pop("WANDB_MODE", None)
        os.environ["WANDB_API_KEY"] = "a" * 40
        os.environ["WANDB_BASE_URL"] = f"http://127.0.0.1:{silent.getsockname()[1]}"
        if kind != SILENT:
            os.environ["WANDB_MODE"] = "offline"
        yield


def run(kind: str, seconds: float, overrides: dict[str, object]) -> Run:
    settings = {
        **overrides,
        "training.time_limit_seconds": seconds,
        "training.total_plies": 10**9,
        "evaluation.opponents": [],
        "record.console": "off",
        "record.trackers": TRACKERS[kind],
        "record.tracker_finish_seconds": 10,
    }
    with (
        tempfile.TemporaryDirectory() as folder,
        environment(kind),
        TrackerWatch(kills=kind == DYING) as watch,
    ):
        directory = RunDirectory.create(Path(folder), "run")
        Trainer(load_config(None, settings).config, directory).train()
        with JournalReader(directory.journal_path) as journal:
            points = journal.series("loss")
            phases = [name for name in journal.metric_names() if name.startswith(PHASE_PREFIX)]
            spent = {name: sum(point.value for point in journal.series(name)) for name in phases}
    if len(points) < LEAST_UPDATES:
        raise SystemExit(
            f"only {len(points)} updates in {seconds:g} s: raise --seconds, or make updates smaller"
        )
    first, last = points[0], points[-1]
    speed = (last.plies - first.plies) / (last.time - first.time)
    total = sum(spent.values())
    return Run(speed, spent.get("seconds_callbacks", 0.0) / total, watch.seconds / total)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each run")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--results", type=Path, default=None, help="file to append the table to")
    arguments, settings = parser.parse_known_args()
    overrides: dict[str, object] = dict(parse_override_tokens(settings))
    figures = Figures()
    kinds = list(TRACKERS)
    for repetition in range(arguments.repetitions):
        # The order turns round: a machine that grows slower is to favour nobody.
        order = kinds if repetition % 2 == 0 else kinds[::-1]
        runs = {kind: run(kind, arguments.seconds, overrides) for kind in order}
        for kind, found in runs.items():
            figures.note("trackers: training", kind, "plies/s", found.plies_per_second)
        for kind in kinds[1:]:
            found, alone = runs[kind], runs[NONE]
            ratio = 100 * found.plies_per_second / alone.plies_per_second
            figures.note("trackers: speed, of that without", kind, "%", ratio)
            figures.note("trackers: trainer's time for callbacks", kind, "%", 100 * found.callback_share)
            figures.note("trackers: their processor time", kind, "% of a core", 100 * found.tracker_seconds)
        figures.note("trackers: trainer's time for callbacks", NONE, "%", 100 * runs[NONE].callback_share)
    figures.finish(arguments.results)


if __name__ == "__main__":
    main()
