"""Tests of keisei.record.run_lock, with real processes."""

import os
import signal
from pathlib import Path

import pytest
from process_watch import open_descriptors

from keisei.errors import RunDirectoryError
from keisei.record.run_lock import RunLock, holder_pid, waiting_lock

HOLD = """
import sys
from pathlib import Path
from keisei.record.run_lock import RunLock

with RunLock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_the_second_trainer_is_refused_with_the_pid_of_the_first(tmp_path: Path, start_python) -> None:
    path = tmp_path / "lock"
    first = start_python(HOLD, path)
    assert first.stdout.readline() == "held\n"
    with pytest.raises(RunDirectoryError, match=f"pid {first.pid},") as caught:
        RunLock(path)
    assert str(tmp_path) in str(caught.value)
    assert holder_pid(path) == first.pid


def test_a_lock_dies_with_its_killed_process(tmp_path: Path, start_python) -> None:
    path = tmp_path / "lock"
    first = start_python(HOLD, path)
    assert first.stdout.readline() == "held\n"
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert holder_pid(path) is None
    with RunLock(path):
        assert holder_pid(path) == os.getpid()


def test_a_released_lock_can_be_taken_again_and_releasing_twice_is_harmless(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    lock = RunLock(path)
    with pytest.raises(RunDirectoryError, match=str(os.getpid())):
        RunLock(path)
    lock.release()
    lock.release()
    assert holder_pid(path) is None
    RunLock(path).release()


def test_a_lock_file_with_garbage_still_refuses_without_a_pid(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with RunLock(path):
        path.write_bytes(b"\xffgarbage")
        with pytest.raises(RunDirectoryError, match="another process is using"):
            RunLock(path)
        assert holder_pid(path) is None


@pytest.mark.skipif(os.name == "nt", reason="Windows counts handles, not descriptors")
def test_a_refused_lock_leaves_no_descriptor_open(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with RunLock(path):
        before = open_descriptors()
        for _ in range(2):
            with pytest.raises(RunDirectoryError):
                RunLock(path)
        after = open_descriptors()
    assert before == after


def test_no_lock_file_means_no_trainer(tmp_path: Path) -> None:
    assert holder_pid(tmp_path / "lock") is None


def test_a_lock_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match="No such file"):
        RunLock(tmp_path / "missing" / "lock")


def test_writers_that_wait_take_turns(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with waiting_lock(path, 5.0) as first, waiting_lock(path, 0.05) as second:
        assert first
        assert not second
    with waiting_lock(path, 0.05) as again:
        assert again


def test_a_waiting_lock_is_free_again_after_an_error(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with pytest.raises(RuntimeError, match="inside"), waiting_lock(path, 1.0):
        raise RuntimeError("inside")
    with waiting_lock(path, 0.05) as again:
        assert again
