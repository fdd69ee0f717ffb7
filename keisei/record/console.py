"""What a person sees of a run on the terminal: a live display, or plain lines where there is no terminal.

A pure view. The training loop offers snapshots; a thread of its own draws the newest one. A slow or stuck
terminal can therefore not hold training up, and an error in drawing costs the display, never the run.
"""

import logging
import math
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType, TracebackType
from typing import Literal, Protocol, Self

from rich.console import Console
from rich.live import Live

from keisei.record.console_layout import live_view, plain_line
from keisei.record.stopwatches import Clock

logger = logging.getLogger(__name__)

ConsoleMode = Literal["auto", "rich", "plain", "off"]
HealthLevel = Literal["good", "warning", "bad"]

CLOSE_TIMEOUT_SECONDS = 2.0
SHOW_CURSOR = "\x1b[?25h"


@dataclass(frozen=True)
class Health:
    """How the run is doing, in plain words."""

    level: HealthLevel
    words: str


@dataclass(frozen=True)
class ConsoleSnapshot:
    """All the console shows, at one moment. Immutable: the thread that draws it shares it with nobody.

    ``curves`` are the recent values of each loss or figure, newest last. ``board`` is the text of one game in
    progress. A ``time_limit_seconds`` of 0 is none. ``strength`` says what measurements showed, if there were any.
    """

    run_name: str
    update: int
    plies: int
    total_plies: int
    games: int
    elapsed_seconds: float
    time_limit_seconds: float
    plies_per_second: float
    curves: Mapping[str, tuple[float, ...]]
    results_by_winner: Mapping[str, int]
    results_by_reason: Mapping[str, int]
    board: str
    health: Health
    strength: str = ""

    def __post_init__(self) -> None:
        """Detach from the dicts that the training loop goes on changing."""
        curves = {name: tuple(values) for name, values in self.curves.items()}
        for name, mapping in (
            ("curves", curves),
            ("results_by_winner", dict(self.results_by_winner)),
            ("results_by_reason", dict(self.results_by_reason)),
        ):
            object.__setattr__(self, name, MappingProxyType(mapping))

    @property
    def progress(self) -> float:
        """The share that is done, 0..1: of the plies or of the time, whichever ends the run first."""
        shares = [self.plies / self.total_plies] if self.total_plies else []
        if self.time_limit_seconds:
            shares.append(self.elapsed_seconds / self.time_limit_seconds)
        return min(max(shares, default=0.0), 1.0)

    @property
    def remaining_seconds(self) -> float | None:
        """Time left at the present speed or to the time limit, whichever is shorter; None when unknown."""
        spans = []
        if self.plies_per_second > 0:
            spans.append((self.total_plies - self.plies) / self.plies_per_second)
        if self.time_limit_seconds:
            spans.append(self.time_limit_seconds - self.elapsed_seconds)
        shortest = min(spans, default=math.inf)
        return max(shortest, 0.0) if math.isfinite(shortest) else None


class Painter(Protocol):
    """One way to show snapshots."""

    #: Intervals from one snapshot to the next.
    intervals: int

    def paint(self, snapshot: ConsoleSnapshot) -> None:
        """Show this one now."""

    def stop(self) -> None:
        """Leave the terminal as it was found."""


class LivePainter:
    """Redraws one block of the terminal in place."""

    intervals = 1

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None

    def paint(self, snapshot: ConsoleSnapshot) -> None:
        """Draw the block, starting it at the first snapshot."""
        view = live_view(snapshot, self._console.width, ascii_only=self._console.options.ascii_only)
        if self._live is None:
            # No redirection: what training prints must not wait for the terminal, nor meet rich's SystemExit.
            self._live = Live(
                console=self._console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False
            )
            self._live.start()
        self._live.update(view, refresh=True)

    def stop(self) -> None:
        """Leave the last block standing and give the cursor back."""
        if self._live is None:
            return
        live, self._live = self._live, None
        try:
            live.stop()
        finally:  # rich's own "show the cursor" is lost with the frame that failed
            if self._console.is_terminal:
                self._console.file.write(SHOW_CURSOR)
                self._console.file.flush()


class PlainPainter:
    """Writes one line per snapshot; lines stay, so they come less often than a picture is redrawn."""

    intervals = 20

    def __init__(self, console: Console) -> None:
        self._file = console.file
        self._encoding = console.encoding

    def paint(self, snapshot: ConsoleSnapshot) -> None:
        """Write the line, with a question mark for what the output cannot encode."""
        line = plain_line(snapshot).encode(self._encoding, "replace").decode(self._encoding)
        self._file.write(f"{line}\n")
        self._file.flush()

    def stop(self) -> None:
        """Nothing to give back."""


def _painters(mode: ConsoleMode, console: Console) -> list[Painter]:
    """The ways to show a run, the best first; each stands in for the one before it when that fails."""
    if mode == "off":
        return []
    plain = PlainPainter(console)
    is_live = mode == "rich" or (mode == "auto" and console.is_terminal and not console.is_dumb_terminal)
    return [LivePainter(console), plain] if is_live else [plain]


class RunConsole:
    """Shows the newest snapshot at most every ``interval_seconds`` (plain lines: every 20th time); training never
    waits for it.

    The loop calls ``offer`` as often as it likes, in every mode and however the plies were collected: there
    is no second way to update the display. ``close`` draws what is left and gives the terminal back.
    """

    def __init__(
        self,
        mode: ConsoleMode,
        interval_seconds: float,
        console: Console | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self._interval_seconds = interval_seconds
        self._clock = clock
        self._due_at = clock()
        self._painters = _painters(mode, console or Console())
        self._changed = threading.Condition()
        self._newest: ConsoleSnapshot | None = None
        self._is_closing = False
        # A daemon: a terminal that never takes the last line must not keep the process alive.
        self._thread = threading.Thread(target=self._draw_until_closed, name="console", daemon=True)
        self._thread.start()

    def offer(self, build: Callable[[], ConsoleSnapshot]) -> bool:
        """Show a snapshot if one is due; ``build`` is called only then. Returns whether it was."""
        now = self._clock()
        painters = self._painters
        if now < self._due_at or not painters:
            return False
        self._due_at = now + self._interval_seconds * painters[0].intervals
        self.show(build())
        return True

    def show(self, snapshot: ConsoleSnapshot) -> None:
        """Show this snapshot, due or not: for the last one of a run. Never waits for the terminal."""
        with self._changed:
            self._newest = snapshot
            self._changed.notify()

    def close(self, timeout_seconds: float = CLOSE_TIMEOUT_SECONDS) -> None:
        """Draw the newest snapshot and end the display.

        Give up on a terminal that does not take it in time.
        """
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        self._thread.join(timeout_seconds)

    def _draw_until_closed(self) -> None:
        while (snapshot := self._next()) is not None:
            self._paint(snapshot)
        self._guarded(lambda painter: painter.stop())

    def _paint(self, snapshot: ConsoleSnapshot) -> None:
        self._guarded(lambda painter: painter.paint(snapshot))

    def _next(self) -> ConsoleSnapshot | None:
        """Wait for a snapshot newer than the one drawn last; None when the display ends."""
        with self._changed:
            self._changed.wait_for(lambda: self._newest is not None or self._is_closing)
            snapshot, self._newest = self._newest, None
            return snapshot

    def _guarded(self, action: Callable[[Painter], None]) -> None:
        """Act through the best painter left. One that fails is reported once and replaced by the next."""
        while self._painters:
            painter = self._painters[0]
            try:
                action(painter)
                return
            except (
                Exception,
                SystemExit,
            ):  # rich answers a broken pipe with SystemExit; the run must not end
                logger.warning("the console display failed and goes on more simply", exc_info=True)
                self._painters.pop(0)
                # What could not draw may not be able to stop either; that was reported with the first failure.
                with suppress(Exception, SystemExit):
                    painter.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
