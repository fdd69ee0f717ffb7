"""What watching costs: training speed with the page open and five visitors against without, in one run.

    python benchmarks/web_page.py --rounds 12 --seconds 6 --results benchmarks/RESULTS.md

One training process goes on all the time. The page's process and that of its visitors are stopped (SIGSTOP) and let go
on in turn, in the order without, with, with, without. The visitors are programs that speak the page's socket protocol
and throw away what they get: drawing is the browser's work, on the machine of whoever looks. Any setting can be given
as --section.key value.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

import numpy as np
import psutil
from figures import Figures

from keisei.record.journal_reader import JournalReader, MetricPoint

PATHS = ("/", "/", "/learning", "/games", "/workers")
ORDER = (False, True, True, False)
#: For the visitors to arrive, and for the run to get up to speed.
START_SECONDS = 20.0
#: Let a stopped page catch up before its window begins.
SETTLE_SECONDS = 1.0
#: The visitor who notes what arrives, and the size of messages that have figures and no boards in them.
FIRST = 0
MOST_FIGURES = 100_000
RUN = "watched"
KEISEI = [sys.executable, "-c", "from keisei.cli import main; main()"]
#: What a visitor's own machine does is not the page's cost.
VISITOR_NICENESS = 19
VISITOR_FLAG = "--visit"
CLIENT_ID = re.compile(r"[\"']client_id[\"']\s*:\s*[\"']([0-9a-f-]+)[\"']")
NEXT_MESSAGE = re.compile(r"[\"']next_message_id[\"']\s*:\s*(\d+)")


class Window(NamedTuple):
    """A stretch of time, and whether the page was open in it."""

    is_watched: bool
    began: float
    ended: float


# ---- visitors


async def visit(base: str, path: str, number: int, arrivals: Path) -> None:
    """One visitor: loads the page, opens its socket, and notes when which count of plies arrived."""
    from websockets.asyncio.client import connect
    from websockets.exceptions import ConnectionClosed

    with arrivals.open("a", encoding="utf-8") as notes:
        while True:
            page = (await asyncio.to_thread(urlopen, base + path)).read().decode()
            client, message = CLIENT_ID.search(page), NEXT_MESSAGE.search(page)
            assert client is not None and message is not None, "the page has changed how it opens its socket"
            query = (
                f"EIO=4&transport=websocket&client_id={client[1]}&next_message_id={message[1]}"
                f"&implicit_handshake=true&tab_id=tab{number}&document_id=doc{number}"
            )
            address = f"{base.replace('http', 'ws')}/_nicegui_ws/socket.io/?{query}"
            try:
                async with connect(address, origin=base, proxy=None, max_size=None) as socket:  # type: ignore[arg-type]
                    await socket.send("40")
                    async for text in socket:
                        if text == "2":
                            await socket.send("3")
                        elif number == FIRST and len(text) < MOST_FIGURES:
                            for count in re.findall(r'"text":"([\d,]{4,})"', str(text)):
                                notes.write(f"{time.time()} {count}\n")
                            notes.flush()
            except ConnectionClosed:
                continue


async def visit_all(base: str, folder: Path) -> None:
    await asyncio.gather(
        *(visit(base, path, number, folder / f"arrivals-{number}") for number, path in enumerate(PATHS))
    )


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


def measure(page: psutil.Process, watchers: Sequence[int], rounds: int, seconds: float) -> list[Window]:
    windows = []
    for is_watched in ORDER * rounds:
        for pid in watchers:
            os.kill(pid, signal.SIGCONT if is_watched else signal.SIGSTOP)
        time.sleep(SETTLE_SECONDS)
        began, busy = time.time(), sum(page.cpu_times()[:2])
        time.sleep(seconds)
        windows.append(Window(is_watched, began, time.time()))
        share = (sum(page.cpu_times()[:2]) - busy) / seconds
        print(f"page {'open' if is_watched else 'stopped'}: {share:.1%} of a core", flush=True)
    return windows


# ---- figures


def speed(window: Window, updates: Sequence[MetricPoint]) -> float:
    """Plies a second; those of an update are taken to be spread evenly over the time since the one before."""
    times, plies = [point.time for point in updates], [point.plies for point in updates]
    before, after = np.interp([window.began, window.ended], times, plies)
    return float(after - before) / (window.ended - window.began)


def lags(windows: Sequence[Window], updates: Sequence[MetricPoint], folder: Path) -> list[float]:
    """Seconds from the record of an update to its arrival at the first visitor."""
    arrived: dict[str, float] = {}
    for line in (folder / "arrivals-0").read_text(encoding="utf-8").splitlines():
        when, count = line.split()
        arrived.setdefault(count, float(when))
    watched = [
        point
        for point in updates
        if any(w.is_watched and w.began <= point.time <= w.ended - 2 for w in windows)
    ]
    return [arrived[key] - p.time for p in watched if (key := f"{p.plies:,}") in arrived]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=12, help="Rounds of four windows.")
    parser.add_argument("--seconds", type=float, default=6.0, help="Length of a window.")
    parser.add_argument("--results", type=Path, help="A file to append the table to.")
    options, settings = parser.parse_known_args()
    figures = Figures()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run_bench(folder, options.rounds, options.seconds, settings, figures)
    figures.finish(options.results)


def run_bench(folder: Path, rounds: int, seconds: float, settings: Sequence[str], figures: Figures) -> None:
    train = [
        *KEISEI, "train", "--runs", str(folder), "--name", RUN, "--record.console", "off",
        "--training.time_limit_seconds", "0", "--training.total_plies", "1000000000",
        "--evaluation.interval_updates", "0", *settings,
    ]  # fmt: skip
    journal = folder / RUN / "journal.sqlite"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with process(*train, **quiet):
        wait_for_updates(journal, 3)
        serve = [*KEISEI, "web", str(folder), "--no-open", "--port", "0"]
        with process(*serve, stdout=subprocess.PIPE) as page:
            assert page.stdout is not None
            base = re.search(r"http://[^/\s]+", page.stdout.readline())
            assert base is not None
            with process(sys.executable, __file__, VISITOR_FLAG, base[0], str(folder)) as visitors:
                time.sleep(START_SECONDS)
                windows = measure(psutil.Process(page.pid), (page.pid, visitors.pid), rounds, seconds)
                memory = psutil.Process(page.pid).memory_info().rss / 2**20
        wait_for_updates(journal, len(points(journal)) + 1)  # the last window ends within an update
        report(windows, points(journal), folder, memory, journal, figures)


def report(
    windows: Sequence[Window],
    updates: Sequence[MetricPoint],
    folder: Path,
    memory: float,
    journal: Path,
    figures: Figures,
) -> None:
    speeds = {
        is_watched: [speed(w, updates) for w in windows if w.is_watched is is_watched] for is_watched in ORDER
    }
    figures.add("page: training", "alone", "plies/s", speeds[False])
    figures.add("page: training", "page open, 5 visitors", "plies/s", speeds[True])
    rounds = [
        100 * (speeds[True][i] + speeds[True][i + 1]) / (speeds[False][i] + speeds[False][i + 1])
        for i in range(0, len(speeds[True]), 2)
    ]
    figures.add("page: training with the page open", "of alone, by rounds", "%", rounds)
    in_all = 100 * sum(speeds[True]) / sum(speeds[False])
    figures.note("page: training with the page open", "of alone, in all", "%", in_all)
    delays = lags(windows, updates, folder)
    figures.add("page: update to visitor", "five visitors", "s", delays)
    figures.note("page: update to visitor, worst", f"of {len(delays)} updates", "s", max(delays))
    figures.note("page: memory", "page process", "MiB", memory)
    with JournalReader(journal) as reader:
        phases = {
            n: [p.value for p in reader.series(n)] for n in reader.metric_names() if n.startswith("seconds_")
        }
    total = sum(map(sum, phases.values()))
    figures.note(
        "page: watching games", "share of training time", "%", 100 * sum(phases["seconds_watch"]) / total
    )


if __name__ == "__main__":
    if VISITOR_FLAG in sys.argv[1:2]:
        os.nice(VISITOR_NICENESS)
        asyncio.run(visit_all(sys.argv[2], Path(sys.argv[3])))
    else:
        main()
