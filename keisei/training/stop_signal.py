"""Ending a run from outside: the first signal asks, the second insists."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType, TracebackType
from typing import Self

#: What shells report for a program ended by Ctrl-C.
EXIT_INTERRUPTED = 130


class StopSignal:
    """Remembers the first SIGINT or SIGTERM; the second ends the process at once.

    Files are written so that an end at any moment leaves them whole, so nothing is lost by the second but the update
    in progress. A quiet one leaves the words about it to another process.
    """

    def __init__(self, *, is_quiet: bool = False) -> None:
        self._requested = threading.Event()
        self._is_quiet = is_quiet

    def __call__(self) -> bool:
        return self._requested.is_set()

    def request(self) -> None:
        """Asks the run to end as the first signal does."""
        self._requested.set()

    def __enter__(self) -> Self:
        self._previous = {
            number: signal.signal(number, self._handle) for number in (signal.SIGINT, signal.SIGTERM)
        }
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self._requested.is_set():
            # Not through exceptions: native code or a stuck disk would hold them up.
            os._exit(EXIT_INTERRUPTED)
        self._requested.set()
        if not self._is_quiet:
            sys.stderr.write(
                "\nstopping: a checkpoint is written, then the run ends (again to end at once)\n"
            )
