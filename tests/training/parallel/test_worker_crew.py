"""Processes that are killed, stopped and slowed down: nothing hangs, nothing is corrupted, nothing is lost in silence.

The processes are real, but play random moves without PyTorch, so that they start quickly.
"""

import os
import random
import signal
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import psutil
import pytest
from process_watch import open_descriptors, worker_processes
from stand_in_worker import Entry, checksum, read_ledger
from worker_samples import PATIENCE_SECONDS, StandIns, network, sample_config, until

from keisei.errors import ConfigError, WorkerFailedError
from keisei.training.parallel import ParallelManager, worker_plan
from keisei.training.parallel.parallel_manager import ExperienceBatch
from keisei.training.parallel.shared_memory import NAMED_SEGMENTS, SEGMENT_PREFIX

HEARTBEAT_SECONDS = 2.0
RECOVERY_SECONDS = 0.05
HANG_SECONDS = 10.0


def entry(batch: ExperienceBatch) -> Entry:
    return Entry(batch.worker, batch.generation, batch.sequence, checksum(batch.rows))


class Run:
    """A manager with stand-in workers, a learner that only counts, and the ledgers of both ends."""

    def __init__(self, folder: Path, workers: int, **changes: object) -> None:
        self.stand_ins = StandIns(folder)
        settings = {"restart_budget": 100_000, "heartbeat_timeout_seconds": HEARTBEAT_SECONDS}
        config = sample_config(
            workers, **{f"parallel__{name}": value for name, value in settings.items()}, **changes
        )
        self.manager = ParallelManager(config, launch=self.stand_ins)
        self.weights = network(config).state_dict()
        self.received: list[Entry] = []
        self.delivered: defaultdict[tuple[int, int], int] = defaultdict(int)
        self.manager.start_workers()

    def update(self) -> list[ExperienceBatch]:
        """One whole update, or the rest of one that was begun; a hang is an error."""
        self._begin()
        batches = self.collect(PATIENCE_SECONDS)
        assert self.manager.update_complete, "hang"
        return batches

    def _begin(self) -> None:
        if self.manager.update_complete:
            self.manager.sync_model_to_workers(self.weights)

    def collect(self, seconds: float) -> list[ExperienceBatch]:
        batches = self.manager.collect_experiences(seconds)
        for batch in batches:
            self.received.append(entry(batch))
            self.delivered[batch.worker, batch.generation] += 1
        return batches

    def pid(self, worker: int) -> int:
        pid: int = self.manager.get_status()["workers"][worker]["pid"]
        return pid

    def generation(self, worker: int) -> int:
        return self.manager.communicator.generation(worker)

    def hit(self, worker: int, number: signal.Signals) -> float:
        """Sends a signal to a worker; returns the seconds until its replacement was launched."""
        generation, pid = self.generation(worker), self.pid(worker)
        self._begin()
        self.collect(0)  # everybody has something to do
        began = time.monotonic()
        os.kill(pid, number)
        while self.generation(worker) == generation:
            self._begin()
            self.collect(0.02)
            assert time.monotonic() - began < PATIENCE_SECONDS, "hang"
        return self.stand_ins.launched[worker, generation + 1] - began

    def compare_ledgers(self, killed: Sequence[tuple[int, int]] = ()) -> None:
        """Each slot that arrived was written so by its worker, once; what is missing is accounted for."""
        written = read_ledger(self.stand_ins.ledger)
        assert len(set(self.received)) == len(self.received), "rows doubled"
        assert set(self.received) <= set(written), "rows corrupted"
        missing = set(written) - set(self.received)
        refused = self.manager.rows_refused // self.manager.plan.shape.rows
        last: dict[tuple[int, int], int] = {}
        for e in written:
            last[e.worker, e.generation] = max(e.sequence, last.get((e.worker, e.generation), 0))
        last_of_victims = {(*life, last[life]) for life in killed if life in last}
        unexplained = [e for e in missing if (e.worker, e.generation, e.sequence) not in last_of_victims]
        assert len(unexplained) <= refused <= len(missing), "rows lost"
        latest: dict[tuple[int, int], int] = {}
        for e in self.received:
            assert e.sequence > latest.get((e.worker, e.generation), 0), "rows out of order"
            latest[e.worker, e.generation] = e.sequence


@pytest.mark.parametrize(
    ("kills", "stops"),
    [pytest.param(50, 10, id="50-kills"), pytest.param(1000, 200, id="1000-kills", marks=pytest.mark.soak)],
)
def test_kills_and_stops_hang_nothing_and_corrupt_nothing(kills: int, stops: int, tmp_path: Path) -> None:
    run = Run(tmp_path, workers=3, env__num_games=192, training__rollout_plies=128)
    descriptors, recoveries, replacements, victims = 0, [], [], []
    dice = random.Random(5)
    with run.manager:
        for number in range(kills + stops):
            worker = dice.randrange(3)
            is_stop = number % 6 == 5
            if number % 5:  # the others are hit whatever they are doing, also while they start
                while not run.delivered[worker, run.generation(worker)]:
                    run.update()
            others = {other: run.generation(other) for other in range(3) if other != worker}
            victims.append((worker, run.generation(worker)))
            seconds = run.hit(worker, signal.SIGSTOP if is_stop else signal.SIGKILL)
            (replacements if is_stop else recoveries).append(seconds)
            assert {other: run.generation(other) for other in others} == others, "others are undisturbed"
            run.update()
            descriptors = descriptors or open_descriptors()
        assert open_descriptors() == descriptors
        status = run.manager.get_status()
        assert status["restarts"] == kills + stops
        assert status["active_workers"] == 3
        assert status["rows_received"] == len(run.received) * run.manager.plan.shape.rows
        rows_at_stake = (kills + stops) * run.manager.plan.slots_per_worker * run.manager.plan.shape.rows
        assert 0 < status["rows_lost"] < rows_at_stake
    run.compare_ledgers(victims)
    assert (len(recoveries), len(replacements)) == (kills, stops)
    assert median(recoveries) <= RECOVERY_SECONDS
    assert max(replacements) < HANG_SECONDS
    assert not worker_processes()


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_w1_a_million_rows_are_neither_lost_nor_doubled_while_the_learner_is_slow(
    mode: str, tmp_path: Path
) -> None:
    rows_wanted = 1_000_000
    run = Run(
        tmp_path,
        workers=2,
        env__num_games=128,
        training__rollout_plies=64,
        parallel__mode=mode,
        parallel__games_per_worker=32,
    )
    with run.manager:
        for _ in range(5):
            run.update()
        memory = _memory_of(run)
        began, received = time.monotonic(), len(run.received)
        for _ in range(5):
            run.update()
        usual_seconds = (time.monotonic() - began) / 5
        for _ in range(3):  # ten times slower for a while
            pause_ends = time.monotonic() + 10 * usual_seconds
            until(lambda limit=pause_ends: time.monotonic() >= limit)  # type: ignore[misc]
            run.update()
        while (len(run.received) - received) * run.manager.plan.shape.rows < rows_wanted:
            run.update()
        assert _memory_of(run) < 1.05 * memory
        assert run.manager.get_status()["rows_lost"] == 0
        _finish(run)
    run.compare_ledgers()
    assert len(run.received) * run.manager.plan.shape.rows > rows_wanted


def _memory_of(run: Run) -> int:
    workers = run.manager.get_status()["workers"].values()
    return sum(worker["memory_bytes"] for worker in workers) + psutil.Process().memory_info().rss


def _finish(run: Run) -> None:
    """Takes in what was filled beyond the last update, so that the ledgers can be compared."""
    run.manager.pause_workers()

    def workers() -> list[dict[str, object]]:
        return list(run.manager.get_status()["workers"].values())

    until(lambda: all(worker["state"] == "paused" for worker in workers()))
    rows_written = sum(int(str(worker["slots"])) for worker in workers()) * run.manager.plan.shape.rows

    def everything_has_come() -> bool:
        run.collect(0.01)
        rows_received = len(run.received) * run.manager.plan.shape.rows
        return rows_received + run.manager.rows_refused == rows_written

    until(everything_has_come)


@pytest.mark.parametrize("kind", ["memfd", "named"])
def test_scaling_up_and_down_in_the_middle_of_updates_loses_nothing(kind: str, tmp_path: Path) -> None:
    segments = own_segments()
    descriptors = open_descriptors()
    run = Run(
        tmp_path, workers=2, env__num_games=16, parallel__games_per_worker=4, parallel__shared_memory=kind
    )
    with run.manager:
        assert run.manager.plan.slots_per_update == 4
        for count in (4, 1, 3, 2, 1, 4):
            run.manager.sync_model_to_workers(run.weights)
            batches = run.collect(0.02)
            run.manager.set_num_workers(count)
            while not run.manager.update_complete:
                batches += run.collect(PATIENCE_SECONDS)
            assert len(batches) == 4
            assert run.manager.get_status()["active_workers"] == count
        assert run.manager.get_status()["restarts"] == 0
        with pytest.raises(ConfigError, match="5 workers cannot share the 4 slots"):
            run.manager.set_num_workers(5)
        with pytest.raises(ConfigError, match="at least one worker, got 0"):
            run.manager.set_num_workers(0)
        assert len(run.update()) == 4, "a refusal changes nothing"
    assert len(set(run.received)) == len(run.received) == 7 * 4
    assert own_segments() == segments
    assert open_descriptors() == descriptors


def test_a_paused_worker_stays_paused_when_it_is_replaced(tmp_path: Path) -> None:
    run = Run(tmp_path, workers=2)
    with run.manager:
        run.update()
        run.manager.pause_workers([1])
        until(lambda: run.manager.get_status()["workers"][1]["state"] == "paused")
        run.hit(1, signal.SIGKILL)
        until(lambda: run.manager.get_status()["workers"][1]["state"] == "paused")
        run.manager.resume_workers([1])
        until(lambda: bool(run.update()) and run.delivered[1, 2] > 0)


def test_a_worker_that_dies_too_often_ends_the_attempt_with_its_cause(tmp_path: Path) -> None:
    run = Run(tmp_path, workers=2)
    run.manager._crew._budget.restarts = 1
    with run.manager:
        run.update()
        run.hit(0, signal.SIGKILL)
        while not run.delivered[0, 2]:
            run.update()
        with pytest.raises(
            WorkerFailedError, match=r"worker 0 died more than 1 times within .* last of signal SIGSEGV"
        ):
            run.hit(0, signal.SIGSEGV)
    assert not worker_processes()


def test_stopped_workers_do_not_keep_the_manager_from_stopping(tmp_path: Path) -> None:
    run = Run(tmp_path, workers=3)
    run.update()
    for worker in range(3):
        os.kill(run.pid(worker), signal.SIGSTOP)
    began = time.monotonic()
    run.manager.stop_workers()
    assert time.monotonic() - began < 5
    run.manager.stop_workers()
    with pytest.raises(WorkerFailedError, match="no workers are running"):
        run.manager.collect_experiences(1)
    with pytest.raises(WorkerFailedError, match="make a new ParallelManager"):
        run.manager.start_workers()
    assert run.manager.get_status()["active_workers"] == 0


def test_a_death_while_games_are_saved_leaves_out_the_dead(tmp_path: Path) -> None:
    run = Run(tmp_path, workers=3)
    with run.manager:
        run.update()
        os.kill(run.pid(1), signal.SIGSTOP)
        states = run.manager.save_states()
        assert sorted(states) == [0, 2]
        assert run.generation(1) == 2, "it was replaced meanwhile"
        run.update()


def test_more_memory_than_there_is_starts_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_plan, "available_memory_bytes", lambda: 2**33)
    with pytest.raises(ConfigError, match="GiB are free; lower"):
        Run(tmp_path, workers=1000, env__num_games=64_000, training__total_plies=10**9)
    assert not worker_processes()


def own_segments() -> set[Path]:
    """The named segments of this process; tests beside this one have theirs."""
    return set(NAMED_SEGMENTS.glob(f"{SEGMENT_PREFIX}{os.getpid()}-*"))
