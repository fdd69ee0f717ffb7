"""Stretches of time with the page open and stopped in turn for `web_page.py`, and what was used in each."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import NamedTuple

import psutil

ORDER = (False, True, True, False)
#: Let a stopped page catch up before its window begins: with 14 s of updates behind it, that takes two to three.
SETTLE_SECONDS = 3.0
#: Share of a core that other programs may take in a window that counts.
MOST_OTHERS = 0.1


class Usage(NamedTuple):
    """Seconds so far: processor time of the page, the visitors and other programs; the trainer's without a core."""

    page: float
    visitors: float
    others: float
    delay: float


class Window(NamedTuple):
    """A stretch of time, whether the page was open in it, and what was used meanwhile."""

    is_watched: bool
    began: float
    ended: float
    used: Usage

    @property
    def seconds(self) -> float:
        return self.ended - self.began

    @property
    def is_quiet(self) -> bool:
        """Whether the machine was the trainer's and the page's."""
        return self.used.others <= MOST_OTHERS * self.seconds


Pair = tuple[Window, Window]


class Watch:
    """Stops the page and its visitors and lets them go on, and counts what they and the trainer use."""

    def __init__(self, trainer: int, page: int, visitors: int) -> None:
        self._trainer, self._page, self._visitors = map(psutil.Process, (trainer, page, visitors))

    def windows(self, rounds: int, seconds: float) -> list[Window]:
        return [self._window(is_watched, seconds) for is_watched in ORDER * rounds]

    def _window(self, is_watched: bool, seconds: float) -> Window:
        for watcher in (self._page, self._visitors):
            watcher.send_signal(signal.SIGCONT if is_watched else signal.SIGSTOP)
        time.sleep(SETTLE_SECONDS)
        began, before = time.time(), self._usage()
        time.sleep(seconds)
        used = Usage(*(now - then for now, then in zip(self._usage(), before, strict=True)))
        window = Window(is_watched, began, time.time(), used)
        shares = ", ".join(f"{name} {value / seconds:.2%}" for name, value in used._asdict().items())
        print(f"page {'open' if is_watched else 'stopped'}: {shares}", flush=True)
        return window

    def _usage(self) -> Usage:
        family = [self._trainer, *self._trainer.children(recursive=True)]
        page, visitors, *ours = (
            sum(each.cpu_times()[:2]) for each in (self._page, self._visitors, psutil.Process(), *family)
        )
        machine = psutil.cpu_times()
        busy = sum(machine) - machine.idle - machine.iowait
        delay = sum(run_delay(each.pid) for each in family)
        return Usage(page, visitors, busy - page - visitors - sum(ours), delay)


def run_delay(pid: int) -> float:
    """Seconds that the threads of a process were ready to run and had no core, as Linux counts them."""
    waited = 0
    for thread in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        try:
            waited += int(thread.read_text().split()[1])
        except OSError:  # it has just ended
            continue
    return waited / 1e9
