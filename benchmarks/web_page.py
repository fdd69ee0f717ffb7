"""What watching costs: training with the page open and five visitors against without, in one run.

    python benchmarks/web_page.py --rounds 20 --seconds 6 --results benchmarks/RESULTS.md

One training process goes on all the time. The page's process and that of its visitors are stopped (SIGSTOP) and let go
on in turn, in the order without, with, with, without. The visitors are programs that speak the page's socket protocol
and throw away what they get: drawing is the browser's work, on the machine of whoever looks. Here they run on the same
cores, at the lowest priority. Any setting can be given as --section.key value.

Three ways to see the cost, from the noisiest to the surest: the speed in whole updates, pair by pair, with a bootstrap
interval; how long the trainer's threads were ready but had no core (the kernel counts that); and the processor time of
the page and of the visitors.
"""

from __future__ import annotations

import argparse
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import numpy as np
import page_visitors
import psutil
from figures import Figures
from page_windows import Pair, Watch, Window

from keisei.record.journal_reader import JournalReader, MetricPoint
from keisei.record.metrics import PHASE_PREFIX

#: For the visitors to arrive, and for the run to get up to speed.
START_SECONDS = 20.0
#: An update this close to the end of a window may arrive after it.
LATE_SECONDS = 2.0
RUN = "watched"
KEISEI = [sys.executable, "-c", "from keisei.cli import main; main()"]
RESAMPLINGS = 10_000
INTERVAL = (2.5, 97.5)


# ---- processes


@contextmanager
def process(*command: str, **options: object) -> Iterator[subprocess.Popen[str]]:
    """A process that ends with the block."""
    running = subprocess.Popen(command, text=True, **options)  # type: ignore[call-overload]
    try:
        yield running
    finally:
        running.send_signal(signal.SIGCONT)
        running.terminate()
        running.wait()


def wait_for_updates(journal: Path, updates: int) -> None:
    while not journal.exists() or len(points(journal)) < updates:
        time.sleep(0.5)


def points(journal: Path) -> list[MetricPoint]:
    with JournalReader(journal) as reader:
        return reader.series("plies_per_second")


# ---- figures


def speed(window: Window, updates: Sequence[MetricPoint]) -> float:
    """Plies a second over the updates that lie wholly within a window; NaN where there are fewer than two."""
    inside = [point for point in updates if window.began <= point.time <= window.ended]
    if len(inside) < 2:
        return float("nan")
    return (inside[-1].plies - inside[0].plies) / (inside[-1].time - inside[0].time)


def ratios(pairs: Sequence[Pair], updates: Sequence[MetricPoint]) -> list[float]:
    """With the page against without, in per cent, for each pair of neighbours: what drifts slowly falls out."""
    speeds = [{w.is_watched: speed(w, updates) for w in pair} for pair in pairs]
    found = [100 * each[True] / each[False] for each in speeds]
    return [ratio for ratio in found if np.isfinite(ratio)]


def bootstrapped(values: Sequence[float]) -> list[float]:
    """The median and the 95 % interval of the median."""
    chosen = np.random.default_rng(0).choice(values, (RESAMPLINGS, len(values)))
    low, high = np.percentile(np.median(chosen, axis=1), INTERVAL)
    return [float(low), float(np.median(values)), float(high)]


def lags(windows: Sequence[Window], updates: Sequence[MetricPoint], folder: Path) -> tuple[list[float], int]:
    """Seconds from the record of an update to its arrival at a visitor; how many gave way to a newer one."""
    arrived = page_visitors.arrivals(folder)
    watched = [
        point
        for point in updates
        if any(w.is_watched and w.began <= point.time <= w.ended - LATE_SECONDS for w in windows)
    ]
    shown = [arrived[key] - p.time for p in watched if (key := f"{p.plies:,}") in arrived]
    return shown, len(watched) - len(shown)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20, help="Rounds of four windows.")
    parser.add_argument("--seconds", type=float, default=6.0, help="Length of a window.")
    parser.add_argument("--niceness", type=int, help="Of the page, instead of its own.")
    parser.add_argument("--results", type=Path, help="A file to append the table to.")
    options, settings = parser.parse_known_args()
    figures = Figures()
    with tempfile.TemporaryDirectory() as name:
        run_bench(Path(name), options, settings, figures)
    figures.finish(options.results)


def run_bench(folder: Path, options: argparse.Namespace, settings: Sequence[str], figures: Figures) -> None:
    train = [
        *KEISEI, "train", "--runs", str(folder), "--name", RUN, "--record.console", "off",
        "--training.time_limit_seconds", "0", "--training.total_plies", "1000000000",
        "--evaluation.interval_updates", "0", *settings,
    ]  # fmt: skip
    journal = folder / RUN / "journal.sqlite"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with process(*train, **quiet) as trainer:
        wait_for_updates(journal, 3)
        serve = [*KEISEI, "web", str(folder), "--no-open", "--port", "0"]
        with process(*serve, stdout=subprocess.PIPE) as page:
            assert page.stdout is not None
            base = re.search(r"http://[^/\s]+", page.stdout.readline())
            assert base is not None
            if options.niceness is not None:
                psutil.Process(page.pid).nice(options.niceness)
            with process(sys.executable, page_visitors.__file__, base[0], str(folder)) as visitors:
                time.sleep(START_SECONDS)
                watch = Watch(trainer.pid, page.pid, visitors.pid)
                windows = watch.windows(options.rounds, options.seconds)
                memory = psutil.Process(page.pid).memory_info().rss / 2**20
        pairs = list(zip(windows[::2], windows[1::2], strict=True))
        quiet_pairs = [pair for pair in pairs if all(window.is_quiet for window in pair)]
        left_out = len(pairs) - len(quiet_pairs)
        figures.note("page: pairs of windows left out, others at work", f"of {len(pairs)}", "", left_out)
        report(quiet_pairs, points(journal), folder, figures)
        figures.note("page: memory", "page process", "MiB", memory)
        report_watching(journal, figures)


def report(pairs: Sequence[Pair], updates: Sequence[MetricPoint], folder: Path, figures: Figures) -> None:
    windows = list(chain.from_iterable(pairs))
    names = {False: "alone", True: "page open, 5 visitors"}
    for is_watched, name in names.items():
        speeds = [speed(w, updates) for w in windows if w.is_watched is is_watched]
        figures.add("page: training", name, "plies/s", [value for value in speeds if np.isfinite(value)])
    found = ratios(pairs, updates)
    subject = f"of alone, {len(found)} pairs of windows"
    figures.add("page: training with the page open", subject, "%", found)
    title = "page: training with the page open, median ± its 95 % interval"
    figures.add(title, subject, "%", bootstrapped(found))
    for is_watched, name in names.items():
        shares = [100 * w.used.delay / w.seconds for w in windows if w.is_watched is is_watched]
        figures.add("page: trainer's threads ready without a core", name, "%", bootstrapped(shares))
    for name, field in (("page process", "page"), ("the visitors", "visitors")):
        shares = [100 * getattr(w.used, field) / w.seconds for w in windows if w.is_watched]
        figures.add("page: processor time", name, "% of a core", shares)
    delays, replaced = lags(windows, updates, folder)
    if not delays:
        raise SystemExit(
            "no update reached a visitor within a window: raise --seconds, or make updates smaller"
        )
    shown = f"{len(delays)} updates"
    figures.add("page: update to visitor", shown, "s", delays)
    figures.note("page: update to visitor, 95th percentile", shown, "s", float(np.percentile(delays, 95)))
    figures.note("page: update to visitor, worst", shown, "s", max(delays))
    figures.note("page: updates that a newer one overtook", f"of {len(delays) + replaced}", "", replaced)


def report_watching(journal: Path, figures: Figures) -> None:
    with JournalReader(journal) as reader:
        phases = {
            n: [p.value for p in reader.series(n)]
            for n in reader.metric_names()
            if n.startswith(PHASE_PREFIX)
        }
    total = sum(map(sum, phases.values()))
    share = 100 * sum(phases["seconds_watch"]) / total
    figures.note("page: watching games", "share of training time", "%", share)


if __name__ == "__main__":
    main()
