"""`torchrun -m keisei train`: several real ranks on the CPU, one run."""

import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from command_line import call_keisei, start_process
from tiny_runs import ROWS, latest, tiny_config, tiny_options

from keisei.config_loader import load_config
from keisei.record.journal_reader import JournalReader
from keisei.record.run_directory import RunDirectory

TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
TIMEOUT_SECONDS = 120
#: Until it is stopped, with a line for every update.
SHOWN = (
    *("--training.total_plies", 1_000_000_000),
    *("--record.console", "plain", "--record.console_interval_seconds", 0.001),
)

StartRanks = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start_ranks(tmp_path: Path) -> Iterator[StartRanks]:
    """Starts the command on two ranks in an empty folder; none outlives its test."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: object) -> "subprocess.Popen[str]":
        process = start_process(tmp_path, *TORCHRUN, "-m", "keisei", *arguments, TMPDIR=str(tmp_path))
        started.append(process)
        return process

    yield start
    for process in started:
        for rank in ranks_of(process):
            rank.kill()
        process.kill()
        process.communicate()


def ranks_of(torchrun: "subprocess.Popen[str]") -> list[psutil.Process]:
    try:
        return psutil.Process(torchrun.pid).children()
    except psutil.NoSuchProcess:
        return []


def recorded(run: RunDirectory) -> list[int]:
    with JournalReader(run.journal_path) as journal:
        return [point.update for point in journal.series("loss")]


def wait_for_update(process: "subprocess.Popen[str]", number: int) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if (found := re.match(r"update (\d+),", line)) and int(found[1]) >= number:
            return
    raise AssertionError(f"the ranks ended before update {number}: {process.communicate()[1]}")


def test_ranks_make_one_run_go_on_with_it_and_stop_together(start_ranks: StartRanks, tmp_path: Path) -> None:
    options = tiny_options(3, evaluation__opponents="random", evaluation__games=2)
    out, err = start_ranks("train", "--name", "mine", *options).communicate(timeout=TIMEOUT_SECONDS)
    assert out.count(f"3 updates, {3 * ROWS} plies") == 1, out + err
    assert out.count("Score against random") == 1
    run = RunDirectory.open(tmp_path / "runs" / "mine")
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["mine"]
    assert recorded(run) == [1, 2, 3]
    expected = tiny_config(3, evaluation__opponents=["random"], evaluation__games=2, record__name="mine")
    assert load_config(run.config_path).config == expected, "the settings of the run, not of a rank"

    torchrun = start_ranks("train", "--resume", "auto", *SHOWN, "--training.checkpoint_interval_updates", 0)
    wait_for_update(torchrun, 5)
    ranks = ranks_of(torchrun)
    assert len(ranks) == 2
    torchrun.send_signal(signal.SIGINT)
    out, err = torchrun.communicate(timeout=TIMEOUT_SECONDS)
    assert "Training ended: stopped by the user." in out, err
    assert err.count("stopping: a checkpoint is written") == 1, "one rank says so"
    assert "has lost another rank" not in err
    assert not any(rank.is_running() for rank in ranks)
    updates = recorded(run)
    assert updates == list(range(1, len(updates) + 1))
    assert len(updates) >= 5
    assert latest(run).manifest.update == updates[-1]
    assert list(tmp_path.glob("keisei-rank-*")) == []


def test_settings_that_ranks_cannot_share_are_refused_before_anything_is_made(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, number in (("WORLD_SIZE", 3), ("RANK", 0), ("LOCAL_RANK", 0), ("LOCAL_WORLD_SIZE", 3)):
        monkeypatch.setenv(name, str(number))
    monkeypatch.chdir(tmp_path)
    called = call_keisei(capsys, "train", *tiny_options(3))
    called.assert_refused(2, "env.num_games 8", "the 3 processes", "torchrun")
    assert list(tmp_path.iterdir()) == []
