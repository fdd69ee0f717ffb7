"""When a worker is taken for dead, and how soon it is replaced."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisei.training.parallel.worker_status import STATUS_BYTES, StatusBoard
from keisei.training.parallel.worker_supervision import RestartBudget, Watchman, cpu_seconds

PATIENCE = 2.0


class HandClock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def silent() -> StatusBoard:
    """A worker that was ready and last gave a sign in 1970, so to say."""
    board = StatusBoard(memoryview(bytearray(STATUS_BYTES)))
    board.ready()
    board._words[0] = 0
    return board


def watch(watchman: Watchman, clock: HandClock, seconds: float) -> None:
    for _ in range(round(seconds / 0.1)):
        clock.now += 0.1
        watchman.look()


def test_a_silent_worker_is_hung_after_the_patience_and_not_before(
    clock: HandClock, silent: StatusBoard
) -> None:
    watchman = Watchman(PATIENCE, clock)
    watch(watchman, clock, PATIENCE - 0.2)
    assert not watchman.is_hung(0, 1, silent)
    watch(watchman, clock, 0.4)
    assert watchman.is_hung(0, 1, silent)
    silent.beat()
    assert not watchman.is_hung(0, 1, silent)


def test_a_trainer_that_was_away_does_not_take_its_workers_for_hung(
    clock: HandClock, silent: StatusBoard
) -> None:
    watchman = Watchman(PATIENCE, clock)
    watch(watchman, clock, 1)
    clock.now += 3600  # Ctrl-Z, lunch, fg: workers and trainer were stopped together
    watchman.look()
    assert not watchman.is_hung(0, 1, silent)
    watch(watchman, clock, PATIENCE + 0.2)
    assert watchman.is_hung(0, 1, silent), "but silence after that counts"


def test_a_worker_that_starts_is_hung_only_if_it_does_not_compute_either(clock: HandClock) -> None:
    starting = StatusBoard(memoryview(bytearray(STATUS_BYTES)))
    watchman = Watchman(PATIENCE, clock)
    watch(watchman, clock, 10 * PATIENCE)
    assert not watchman.is_hung(0, os.getpid(), starting), "first look at this process"
    used = cpu_seconds(os.getpid())
    while cpu_seconds(os.getpid()) <= used:
        pass
    watch(watchman, clock, 10 * PATIENCE)
    assert not watchman.is_hung(0, os.getpid(), starting), "it has computed since"
    gone = 2**22 + 1  # no process has such a number
    assert not watchman.is_hung(0, gone, starting), "another process is another start"
    watch(watchman, clock, PATIENCE + 0.2)
    assert watchman.is_hung(0, gone, starting)


def test_the_first_restart_is_immediate_and_fruitless_ones_are_ever_farther_apart(clock: HandClock) -> None:
    budget = RestartBudget(restarts=100, window_seconds=1e6, clock=clock)
    waits = []
    for _ in range(9):
        assert budget.allow(0) == 0
        delay = budget.allow(0)
        assert delay is not None
        waits.append(delay)
        clock.now += delay
    assert waits[0] == pytest.approx(0.2)
    assert waits[1] == pytest.approx(0.4)
    assert waits == sorted(waits)
    assert waits[-1] == waits[-2] == pytest.approx(12.8)


def test_a_worker_that_delivered_is_restarted_at_once_again(clock: HandClock) -> None:
    budget = RestartBudget(restarts=100, window_seconds=1e6, clock=clock)
    for _ in range(5):
        assert budget.allow(3) == 0
        budget.delivered(3)
    assert budget.has_delivered(3)
    assert not budget.has_delivered(4)


@given(st.integers(0, 5), st.lists(st.floats(0, 50), max_size=40))
def test_the_budget_is_never_exceeded_within_any_window(restarts: int, pauses: list[float]) -> None:
    clock, window = HandClock(), 60.0
    budget = RestartBudget(restarts, window, clock)
    granted: list[float] = []
    for pause in pauses:
        clock.now += pause
        recent = [time for time in granted if time > clock.now - window]
        answer = budget.allow(0)
        assert (answer is None) == (len(recent) >= restarts)
        if answer == 0:
            granted.append(clock.now)
    assert all(sum(time <= other < time + window for other in granted) <= restarts for time in granted)
