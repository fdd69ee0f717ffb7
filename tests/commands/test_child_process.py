"""Commands that a command runs: they end with it, whatever happens."""

import os
from pathlib import Path

import psutil
import pytest
from process_watch import is_gone, wait_until

from keisei.commands.child_process import ChildProcess

#: Would take hours.
ENDLESS = ("perft", 9)
#: More than it takes to start.
WORK_SECONDS = 1.0


def test_a_command_runs_to_its_end_and_its_words_are_kept(tmp_path: Path) -> None:
    with ChildProcess(tmp_path / "log", "perft", 2) as child:
        wait_until(lambda: child.exit_code is not None, "the end of the command")
    assert child.exit_code == 0
    assert child.last_words() == "nodes 900"


def test_a_command_that_fails_says_why(tmp_path: Path) -> None:
    child = ChildProcess(tmp_path / "log", "show", "no position")
    child.wait_or_kill()
    assert child.exit_code == 1
    assert child.last_words().startswith("error: ")


def test_a_command_ends_with_the_block_and_does_not_hear_ctrl_c(tmp_path: Path) -> None:
    with ChildProcess(tmp_path / "log", *ENDLESS) as child:
        assert child.exit_code is None
        assert os.getpgid(child.pid) != os.getpgid(0)
    assert child.exit_code is not None
    assert is_gone(child.pid)


PARENT = """
import sys
from pathlib import Path
from keisei.commands.child_process import ChildProcess
print(ChildProcess(Path(sys.argv[1]), "perft", 9).pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("is_at_work", [True, False])
def test_a_command_does_not_outlive_a_killed_parent(tmp_path: Path, start_python, is_at_work: bool) -> None:
    parent = start_python(PARENT, tmp_path / "log")
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    if is_at_work:
        wait_until(lambda: psutil.Process(child).cpu_times().user > WORK_SECONDS, "the work of the command")
    parent.kill()
    wait_until(lambda: is_gone(child), "the end of the command")
