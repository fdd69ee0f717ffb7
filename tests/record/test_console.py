"""Tests of keisei.record.console: when it draws, and that nothing on the terminal reaches training."""

import dataclasses
import io
import logging
import os
import threading
from collections.abc import Callable

import pytest
from console_snapshots import snapshot
from hand_clock import HandClock
from rich.console import Console

from keisei.record.console import ConsoleMode, ConsoleSnapshot, Health, RunConsole

SHORT_SECONDS = 0.2
MORE_THAN_A_PIPE_HOLDS = 1 << 20


def terminal(file: io.StringIO) -> Console:
    return Console(file=file, force_terminal=True, width=100, height=40, _environ={"TERM": "xterm"})


def shown_by(mode: ConsoleMode, console: Console) -> str:
    with RunConsole(mode, 1.0, console) as run_console:
        run_console.offer(snapshot)
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_a_terminal_gets_the_live_display_and_its_cursor_back() -> None:
    text = shown_by("auto", terminal(io.StringIO()))
    assert "╭" in text and "quiet-lance" in text and "learning well" in text
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")  # cursor shown after it was hidden


def test_what_is_no_terminal_gets_plain_lines() -> None:
    text = shown_by("auto", Console(file=io.StringIO(), force_terminal=False))
    assert text.startswith("update 12, 1,000 plies (25%)") and text.count("\n") == 1 and "\x1b" not in text


def test_a_dumb_terminal_gets_plain_lines() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, _environ={"TERM": "dumb"})
    assert shown_by("auto", console).startswith("update 12,")


def test_the_mode_can_be_forced() -> None:
    assert shown_by("plain", terminal(io.StringIO())).startswith("update 12,")
    assert "╭" in shown_by("rich", Console(file=io.StringIO(), force_terminal=False))
    assert shown_by("off", terminal(io.StringIO())) == ""


def test_off_never_builds_a_snapshot() -> None:
    with RunConsole("off", 0.0) as run_console:
        assert not run_console.offer(lambda: pytest.fail("built a snapshot for nobody"))


@pytest.mark.parametrize(("mode", "interval"), [("rich", 2.0), ("plain", 40.0)])
def test_b13_one_way_to_update_the_display_at_most_once_per_interval_in_every_mode(
    mode: ConsoleMode, interval: float
) -> None:
    clock, built = HandClock(), []

    def build() -> ConsoleSnapshot:
        built.append(clock.now)
        return snapshot()

    with RunConsole(mode, 2.0, terminal(io.StringIO()), clock) as run_console:
        for _ in range(400):
            run_console.offer(build)
            clock.advance(0.5)
    assert built == [1000.0 + interval * n for n in range(int(200 / interval))]


def test_the_last_snapshot_is_drawn_before_the_end() -> None:
    console = Console(file=io.StringIO(), force_terminal=False)
    with RunConsole("plain", 1e9, console) as run_console:
        for update in range(50):
            run_console.show(snapshot(update))
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert lines[-1].startswith("update 49,")
    assert len(lines) <= 50


def test_a_snapshot_does_not_follow_the_loop_and_cannot_be_changed() -> None:
    counts, curve = {"checkmate": 1}, [0.5]
    shown = dataclasses.replace(snapshot(), results_by_reason=counts, curves={"loss": curve})
    counts["checkmate"] = 99
    curve.append(0.1)
    assert (shown.results_by_reason["checkmate"], shown.curves["loss"]) == (1, (0.5,))
    with pytest.raises(dataclasses.FrozenInstanceError):
        shown.update = 5  # type: ignore[misc]
    with pytest.raises(TypeError):
        shown.results_by_reason["checkmate"] = 5  # type: ignore[index]


@pytest.mark.parametrize(
    ("changes", "progress", "remaining"),
    [
        ({}, 0.25, 60.0),
        ({"time_limit_seconds": 40.0}, 0.5, 20.0),
        ({"plies_per_second": 0.0}, 0.25, None),
        ({"plies_per_second": 5e-324}, 0.25, None),
        ({"plies_per_second": 0.0, "time_limit_seconds": 10.0}, 1.0, 0.0),
        ({"plies": 5000}, 1.0, 0.0),
        ({"total_plies": 0, "plies": 0}, 0.0, 0.0),
    ],
)
def test_progress_and_time_left(changes: dict[str, float], progress: float, remaining: float | None) -> None:
    shown = dataclasses.replace(snapshot(), **changes)
    assert (shown.progress, shown.remaining_seconds) == (progress, remaining)


class FailingFile(io.StringIO):
    """An output that breaks on what `is_bad` says."""

    def __init__(self, is_bad: Callable[[str], bool]) -> None:
        super().__init__()
        self._is_bad = is_bad

    def write(self, text: str) -> int:
        if self._is_bad(text):
            raise OSError("the terminal is gone")
        return super().write(text)


def test_an_error_in_the_live_display_is_logged_once_and_goes_on_in_plain_lines(caplog) -> None:
    file = FailingFile(lambda text: "╭" in text)
    with caplog.at_level(logging.WARNING), RunConsole("rich", 0.0, terminal(file)) as run_console:
        for update in range(20):
            run_console.show(snapshot(update))
    assert len(caplog.records) == 1
    assert "the terminal is gone" in caplog.text
    hidden, _, lines = file.getvalue().partition("\x1b[?25h")  # the cursor comes back before the first line
    assert hidden == "\x1b[?25l"
    assert lines.splitlines()[-1].startswith("update 19,")


BROKEN_PIPE = """
import os, sys
sys.path.insert(0, "tests/record")
from console_snapshots import snapshot
from rich.console import Console
from keisei.record.console import RunConsole

with RunConsole("rich", 0.0, Console(force_terminal=True)) as run_console:
    run_console.show(snapshot())
    sys.stdin.readline()  # by now the reader of our output has gone
    run_console.show(snapshot())
    run_console.show(snapshot())
sys.stderr.write("training went on\\n")
"""


def test_a_reader_that_goes_away_does_not_end_the_run(start_python) -> None:
    trainer = start_python(BROKEN_PIPE)
    assert "╭" in trainer.stdout.readline()
    trainer.stdout.close()
    trainer.stdin.write("go\n")
    trainer.stdin.close()
    assert trainer.wait() == 0
    assert trainer.stderr.read().endswith("training went on\n")


def test_an_output_that_is_gone_silences_the_console_and_nothing_else(caplog) -> None:
    file = FailingFile(lambda text: True)
    with caplog.at_level(logging.WARNING), RunConsole("auto", 0.0, terminal(file)) as run_console:
        for update in range(20):
            run_console.show(snapshot(update))
    assert file.getvalue() == ""
    assert len(caplog.records) == 2  # the live display, then the plain lines


def test_a_character_that_the_output_cannot_encode_becomes_a_question_mark() -> None:
    raw = io.BytesIO()
    console = Console(file=io.TextIOWrapper(raw, encoding="ascii"), force_terminal=False)
    with RunConsole("plain", 1.0, console) as run_console:
        run_console.show(dataclasses.replace(snapshot(), health=Health("good", "良い")))
    assert raw.getvalue().endswith(b", ??\n")


def test_a_stuck_terminal_holds_up_neither_training_nor_the_end() -> None:
    reading, writing = os.pipe()  # nobody reads: the pipe fills up and the drawing thread hangs in write()
    os.set_blocking(reading, False)
    with os.fdopen(writing, "w") as stuck:
        run_console = RunConsole("plain", 0.0, Console(file=stuck, force_terminal=False))
        full = dataclasses.replace(snapshot(), health=Health("good", "x" * MORE_THAN_A_PIPE_HOLDS))
        run_console.show(full)
        went_on = threading.Event()

        def train() -> None:
            for _ in range(1000):
                run_console.offer(lambda: full)
            run_console.close(timeout_seconds=SHORT_SECONDS)
            went_on.set()

        threading.Thread(target=train, daemon=True).start()
        assert went_on.wait(timeout=20)
        assert drain_until_finished(reading, run_console) > MORE_THAN_A_PIPE_HOLDS // 2
    os.close(reading)


def drain_until_finished(reading: int, run_console: RunConsole) -> int:
    """Let the drawing thread write what it was stuck with, and end; returns the bytes."""
    received = 0
    assert run_console._thread.is_alive()
    while run_console._thread.is_alive():
        try:
            received += len(os.read(reading, MORE_THAN_A_PIPE_HOLDS))
        except BlockingIOError:
            run_console._thread.join(SHORT_SECONDS)
    return received
