"""The process of the trackers: reads messages from its stdin until there are no more, then ends.

Its stdout carries reports to the trainer, a line each. What the trackers themselves print goes to stderr, which is the
run's trackers.log.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

import psutil

from keisei.record.trackers.messages import Artifact, Figures, Finish, Rewind, Start, decode
from keisei.record.trackers.tracker import Report, Tracker, make_tracker

#: Lower priority than the trainer and its workers.
NICENESS: Final = 10
LOOK_SECONDS: Final = 1.0
#: What is left to a process whose trainer is gone.
GRACE_SECONDS: Final = 3.0
EXIT_TRAINER_GONE: Final = 2


class Trackers:
    """All trackers of a run. What one of them raises is reported and concerns no other."""

    def __init__(self, start: Start, report: Report) -> None:
        self._report = report
        self._reported: set[str] = set()
        self._trackers: dict[str, Tracker] = {}
        for name in start.trackers:
            self._guarded(name, partial(self._add, name, start))

    def _add(self, name: str, start: Start) -> None:
        self._trackers[name] = make_tracker(name, start, self._report)

    def tell(self, message: Figures | Artifact | Rewind | Finish) -> None:
        """Give a message to each."""
        for name, tracker in self._trackers.items():
            self._guarded(name, partial(_hand_over, tracker, message))

    def _guarded(self, name: str, action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as error:  # noqa: BLE001 the process boundary: a tracker may fail in any way
            traceback.print_exc()
            problem = f"{name}: {type(error).__name__}: {error}"
            if problem not in self._reported:  # a full disk fails at every update
                self._reported.add(problem)
                self._report(f"tracker {problem}; the run goes on, its journal has everything")


def _hand_over(tracker: Tracker, message: Figures | Artifact | Rewind | Finish) -> None:
    match message:
        case Figures():
            tracker.log(message)
        case Artifact():
            tracker.keep(message)
        case Rewind():
            tracker.rewind(message)
        case Finish(failed):
            tracker.finish(failed=failed)


def serve(lines: Iterable[bytes], report: Report) -> None:
    """Do what the messages say. When they end without a `Finish`, the trainer is gone: that is a failure."""
    messages = map(decode, lines)
    start = next(messages, None)
    if not isinstance(start, Start):
        return
    trackers = Trackers(start, report)
    for message in messages:
        if not isinstance(message, Start):
            trackers.tell(message)
        if isinstance(message, Finish):
            return
    trackers.tell(Finish(failed=True))


def main() -> None:
    """Serve the trainer that started this process; its pid is the one argument."""
    reports = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    threading.Thread(target=_end_after, args=(int(sys.argv[1]),), daemon=True).start()

    def report(text: str) -> None:
        try:
            reports.write(" ".join(text.split()) + "\n")
            reports.flush()
        except BrokenPipeError:
            pass  # nobody is there any more to hear it

    serve(sys.stdin.buffer, report)
    # Threads and processes of trackers must not hold up the end: what there was to write is written.
    sys.stderr.flush()
    os._exit(0)


def _end_after(trainer: int) -> None:
    """End this process a while after its trainer, even when a tracker waits for a server for ever."""
    while os.getppid() == trainer and psutil.pid_exists(trainer):
        time.sleep(LOOK_SECONDS)
    time.sleep(GRACE_SECONDS)
    os._exit(EXIT_TRAINER_GONE)
