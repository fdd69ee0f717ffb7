"""Ending a run from outside: the first signal asks, the second insists."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from keisei.training.stop_signal import EXIT_INTERRUPTED, StopSignal

REPOSITORY = Path(__file__).resolve().parents[2]

INSISTED = """
import signal
from keisei.training.stop_signal import StopSignal

with StopSignal() as should_stop:
    signal.raise_signal(signal.SIGINT)
    print("asked", should_stop(), flush=True)
    signal.raise_signal(signal.SIGTERM)
    print("never", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_asks_and_tells_the_user(
    number: signal.Signals, capfd: pytest.CaptureFixture[str]
) -> None:
    with StopSignal() as should_stop:
        assert not should_stop()
        signal.raise_signal(number)
        assert should_stop()
    assert "a checkpoint is written, then the run ends" in capfd.readouterr().err


def test_the_handlers_that_were_there_come_back() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with StopSignal():
        assert signal.getsignal(signal.SIGINT) not in before
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_a_program_can_ask_as_well() -> None:
    should_stop = StopSignal()
    should_stop.request()
    assert should_stop()


def test_the_second_signal_ends_the_process_at_once() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INSISTED], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert done.stdout == "asked True\n"
    assert done.returncode == EXIT_INTERRUPTED
    assert "Traceback" not in done.stderr
