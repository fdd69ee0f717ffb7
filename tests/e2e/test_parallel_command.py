"""`keisei train` with workers, from outside: the command, its processes, its signals and what it leaves behind."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import psutil
import pytest
from command_line import ENVIRONMENT, KEISEI, call_keisei
from process_watch import worker_processes

from keisei.errors import JournalError
from keisei.record.journal_reader import JournalReader
from keisei.training.parallel import worker_plan
from keisei.training.parallel.shared_memory import NAMED_SEGMENTS, SEGMENT_PREFIX

WORKERS, GAMES, PLIES = 2, 8, 10
ROWS = GAMES * PLIES
PATIENCE_SECONDS = 120.0
ORPHAN_SECONDS = 5.0
STOP_SECONDS = 10.0
FOREVER = 10**9
SETTINGS: dict[str, object] = {
    "record.name": "run",
    "record.console": "plain",
    "parallel.num_workers": WORKERS,
    "env.num_games": GAMES,
    "env.max_plies": 60,
    "model.architecture": "cnn",
    "model.blocks": 1,
    "model.channels": 8,
    "training.rollout_plies": PLIES,
    "training.minibatch_size": 40,
    "training.epochs": 1,
    "training.time_limit_seconds": 0,
    "evaluation.opponents": "[]",
}


def options(**settings: object) -> list[str]:
    chosen = {**SETTINGS, **{key.replace("__", "."): value for key, value in settings.items()}}
    return [token for key, value in chosen.items() for token in (f"--{key}", str(value))]


class Training:
    """`keisei train` in a session of its own, as a terminal would start it."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [str(KEISEI), "train", *arguments],
            cwd=folder,
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.journal = folder / "runs" / "run" / "journal.sqlite"

    def workers(self) -> list[psutil.Process]:
        return worker_processes(self.process.pid)

    def segments(self) -> list[Path]:
        """Named shared memory of this process."""
        return list(NAMED_SEGMENTS.glob(f"{SEGMENT_PREFIX}{self.process.pid}-*"))

    def updates(self) -> int:
        """Updates in the journal by now."""
        with suppress(JournalError), JournalReader(self.journal) as reader:
            return len(reader.series("games"))
        return 0  # it does not exist yet, or not completely

    def reaches(self, updates: int) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.updates() < updates:
            assert self.process.poll() is None, self.process.communicate()[1]
            assert time.monotonic() < deadline
            time.sleep(0.02)  # leaves the processor to the command

    def end(self) -> tuple[str, str]:
        return self.process.communicate(timeout=PATIENCE_SECONDS)


Start = Callable[..., Training]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts trainings; none outlives its test, and none leaves anything in shared memory."""
    started: list[Training] = []

    def start(*arguments: str) -> Training:
        started.append(Training(tmp_path, *arguments))
        return started[-1]

    yield start
    for training in started:
        training.process.kill()
        training.process.communicate()
        assert not training.segments()


def are_gone_within(seconds: float, processes: list[psutil.Process]) -> bool:
    return not psutil.wait_procs(processes, timeout=seconds)[1]


def test_b10_b11_b13_the_command_starts_workers_and_shows_the_right_figures(start: Start) -> None:
    updates = 20
    training = start(*options(training__total_plies=updates * ROWS))
    training.reaches(1)
    workers = training.workers()
    assert len(workers) == WORKERS
    output, errors = training.end()
    assert training.process.returncode == 0, errors
    assert "Traceback" not in errors
    assert are_gone_within(ORPHAN_SECONDS, workers)
    with JournalReader(training.journal) as journal:
        games, finished = journal.series("games"), journal.series("games_finished")
        speeds = journal.series("plies_per_second")
        assert {point.value for point in journal.series("workers")} == {WORKERS}
        assert {point.value for point in journal.series("policy_lag")} == {0}
    assert [point.plies for point in games] == [ROWS * (update + 1) for update in range(updates)]
    assert games[-1].value == sum(point.value for point in finished)
    shown = [line for line in output.splitlines() if line.startswith("update ")]
    assert f"update {updates}, {updates * ROWS:,}" in shown[-1], "one display for every mode"
    assert f"{updates} updates, {updates * ROWS:,} plies, {games[-1].value:,.0f} games" in output
    for earlier, later in pairwise(speeds):
        # The mean since the beginning, from the time that had passed before and the journal's own clock.
        seconds = earlier.plies / earlier.value + later.time - earlier.time
        assert later.value == pytest.approx(later.plies / seconds, rel=0.2)


def test_ctrl_c_saves_and_ends_and_kill_9_leaves_no_orphan(start: Start) -> None:
    training = start(*options(training__total_plies=FOREVER))
    training.reaches(2)
    workers = training.workers()
    began = time.monotonic()
    os.killpg(training.process.pid, signal.SIGINT)  # as a terminal does it: to everybody
    output, errors = training.end()
    assert time.monotonic() - began < STOP_SECONDS
    assert training.process.returncode == 0, errors
    assert "stopped by the user" in output
    assert "Traceback" not in errors
    assert are_gone_within(ORPHAN_SECONDS, workers)

    saved = training.updates()
    resumed = start("--resume", "auto", "--parallel.shared_memory", "named")
    resumed.reaches(saved + 2)
    workers = resumed.workers()
    assert len(workers) == WORKERS
    assert resumed.segments()
    workers[0].suspend()  # even one that hears nothing
    resumed.process.kill()
    assert are_gone_within(ORPHAN_SECONDS, workers)
    deadline = time.monotonic() + ORPHAN_SECONDS
    while resumed.segments():
        assert time.monotonic() < deadline, "named memory is left behind"
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"parallel__num_workers": -1}, "'parallel.num_workers' on the command line: expected integer ≥ 0"),
        ({"parallel__num_workers": 3}, "env.num_games 8 cannot be shared out evenly"),
        ({"training__minibatch_size": 81}, "training.minibatch_size 81 exceeds the 80 rows of an update"),
        (
            {"parallel__num_workers": 1024, "env__num_games": 65_536, "training__total_plies": FOREVER},
            "1024 workers and the rows of an update need about",
        ),
        (
            {"training__rollout_plies": 65_536, "env__num_games": 65_536, "training__total_plies": 10**10},
            "GiB are free; lower parallel.num_workers",
        ),
    ],
)
def test_what_cannot_work_is_one_clear_error_before_any_process_starts(
    settings: dict[str, object],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker_plan, "available_memory_bytes", lambda: 2**33)
    called = call_keisei(capsys, "train", "--runs", str(tmp_path), *options(**settings))
    called.assert_refused(2, message)
    assert not worker_processes()
