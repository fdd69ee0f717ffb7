"""The queue and the child: a child that works, dies, hangs, or loses its trainer."""

import os
import signal
import time
from pathlib import Path

import pytest
from process_watch import PATIENCE_SECONDS, is_gone, wait_until
from tracked_runs import black_hole, start_of, tensorboard_scalars

from keisei.record.trackers import tracker_process
from keisei.record.trackers.messages import Figures
from keisei.record.trackers.tracker_process import RESTARTS, TrackerProcess

#: More than fits into a pipe.
LARGE = {f"figure {index}": 0.123456789 for index in range(5000)}


def start(folder: Path, *trackers: str, queue_size: int = 100) -> TrackerProcess:
    return TrackerProcess(start_of(folder, *trackers), folder / "trackers.log", queue_size)


def test_figures_arrive_in_order_and_the_process_ends(tmp_path: Path) -> None:
    process = start(tmp_path, "tensorboard")
    for update in range(1, 51):
        process.send(Figures(update, {"loss": float(update)}))
    process.finish(PATIENCE_SECONDS, failed=False)
    assert process.take_reports() == []
    assert is_gone(process.pid)
    assert tensorboard_scalars(tmp_path)["loss"] == [(update, float(update)) for update in range(1, 51)]


def test_a_killed_child_is_replaced_and_later_figures_arrive(tmp_path: Path) -> None:
    process = start(tmp_path, "tensorboard")
    os.kill(process.pid, signal.SIGKILL)
    wait_until(lambda: is_gone(process.pid), "the end of the child")
    process.send(Figures(7, {"loss": 0.5}))
    process.finish(PATIENCE_SECONDS, failed=False)
    assert process.take_reports() == ["the trackers' process ended (signal SIGKILL) and was started anew"]
    assert tensorboard_scalars(tmp_path)["loss"] == [(7, 0.5)]


def test_a_child_that_dies_again_and_again_is_given_up(tmp_path: Path) -> None:
    process = start(tmp_path)
    for _ in range(RESTARTS + 1):
        pid = process.pid
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda pid=pid: is_gone(pid), "the end of the child")
        process.send(Figures(1, {}))
        wait_until(lambda pid=pid: process.pid != pid or len(process._reports) > RESTARTS, "the next child")
    process.send(Figures(2, {}))
    process.finish(PATIENCE_SECONDS, failed=False)
    *restarts, given_up, left_out = process.take_reports()
    assert len(restarts) == RESTARTS
    assert "goes on without them" in given_up
    # The message before the last restart may have been on its way to the child that was killed.
    assert left_out.split(" did")[0] in ("2 messages", "3 messages")
    assert "did not reach the trackers" in left_out


@pytest.mark.parametrize("is_hurried", [True, False])
def test_a_child_that_hangs_holds_nobody_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_hurried: bool
) -> None:
    monkeypatch.setattr(tracker_process, "HURRY_SECONDS", 0.1)
    process = start(tmp_path, queue_size=5)
    os.kill(process.pid, signal.SIGSTOP)
    for update in range(20):
        process.send(Figures(update, LARGE))
    began = time.monotonic()
    timeout_seconds = PATIENCE_SECONDS if is_hurried else 0.1
    process.finish(timeout_seconds, failed=False, is_hurried=lambda: is_hurried)
    assert time.monotonic() - began < PATIENCE_SECONDS / 2
    assert is_gone(process.pid)
    ended, left_out = process.take_reports()
    assert "were ended" in ended
    assert "the journal has everything" in left_out
    assert int(left_out.split()[0]) >= 13, "20 messages, 5 in the queue, 1 in the pipe, 1 for the end"


TRAINER = """
import sys
from pathlib import Path
sys.path.insert(0, str(Path("tests/record/trackers").resolve()))
from tracked_runs import start_of
from keisei.record.trackers.tracker_process import TrackerProcess
folder = Path(sys.argv[1])
print(TrackerProcess(start_of(folder, "wandb", mode="online"), folder / "log", 9).pid, flush=True)
sys.stdin.read()
"""


def test_a_child_goes_with_its_trainer_even_when_its_server_never_answers(
    tmp_path: Path, start_python, monkeypatch: pytest.MonkeyPatch
) -> None:
    with black_hole() as address:
        monkeypatch.setenv("WANDB_BASE_URL", address)
        monkeypatch.setenv("WANDB_API_KEY", "a" * 40)
        monkeypatch.delenv("WANDB_MODE", raising=False)
        trainer = start_python(TRAINER, tmp_path)
        assert trainer.stdout is not None
        child = int(trainer.stdout.readline())
        trainer.kill()
        wait_until(lambda: is_gone(child), "the end of the child")
