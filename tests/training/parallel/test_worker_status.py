"""The words of a worker: what it writes is what the trainer reads, with its age."""

import time

import pytest

from keisei.training.parallel.worker_status import STATUS_BYTES, StatusBoard, WorkerState


@pytest.fixture
def memory() -> memoryview:
    return memoryview(bytearray(STATUS_BYTES))


def test_w2_the_trainer_reads_what_the_worker_writes(memory: memoryview) -> None:
    worker, trainer = StatusBoard(memory), StatusBoard(memory)
    worker.begin()
    worker.ready()
    worker.uses(version=7)
    worker.played(plies=64, busy_ns=1_000_000)
    worker.played(plies=-16, busy_ns=0)
    worker.delivered()
    worker.enter(WorkerState.PAUSED)
    status = trainer.read()
    assert (status.state, status.plies, status.slots, status.version) == (WorkerState.PAUSED, 48, 1, 7)
    assert status.plies_per_second == pytest.approx(48_000)
    assert 0 <= status.age_seconds < 10


def test_age_grows_until_the_next_sign_of_life(memory: memoryview) -> None:
    board = StatusBoard(memory)
    board.begin()
    first = board.heartbeat_age_seconds
    while board.heartbeat_age_seconds < first + 0.01:
        pass
    began = time.monotonic()
    board.beat()
    assert board.heartbeat_age_seconds <= time.monotonic() - began


def test_utilisation_is_the_share_of_life_spent_playing(memory: memoryview) -> None:
    board = StatusBoard(memory)
    board.begin()
    assert board.read().utilisation == 0, "a worker that starts has not lived"
    began = time.monotonic_ns()
    board.ready()
    while time.monotonic_ns() - began < 20_000_000:
        pass
    board.played(1, 10_000_000)
    assert 0 < board.read().utilisation <= 0.5
    board.played(1, 10**12)
    assert board.read().utilisation == 1


def test_a_new_life_forgets_the_old_one(memory: memoryview) -> None:
    board = StatusBoard(memory)
    board.ready()
    board.played(5, 5)
    board.begin()
    status = board.read()
    assert (status.state, status.plies, status.plies_per_second) == (WorkerState.STARTING, 0, 0)
