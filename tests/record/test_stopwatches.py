"""Tests of keisei.record.stopwatches on a clock that the test moves."""

import time

import pytest
from hand_clock import HandClock
from hypothesis import given
from hypothesis import strategies as st

from keisei.record.stopwatches import OTHER_PHASE, PhaseTimers, SpeedWindow


def test_each_phase_gets_its_own_time_and_the_rest_is_other() -> None:
    clock = HandClock()
    timers = PhaseTimers(clock)
    clock.advance(1)
    with timers.phase("collect"):
        clock.advance(5)
    with timers.phase("learn"):
        clock.advance(2)
        with timers.phase("record"):
            clock.advance(0.5)
        clock.advance(1)
    clock.advance(0.25)
    assert timers.seconds() == {OTHER_PHASE: 1.25, "collect": 5, "learn": 3, "record": 0.5}


def test_a_phase_that_is_running_counts_already() -> None:
    clock = HandClock()
    timers = PhaseTimers(clock)
    with timers.phase("collect"):
        clock.advance(3)
        assert timers.seconds()["collect"] == 3
        clock.advance(1)
    assert timers.seconds()["collect"] == 4


def test_t1_a_phase_ends_when_its_body_raises() -> None:
    clock = HandClock()
    timers = PhaseTimers(clock)
    with pytest.raises(RuntimeError, match="boom"), timers.phase("learn"), timers.phase("inner"):
        clock.advance(1)
        raise RuntimeError("boom")
    clock.advance(7)
    assert timers.seconds() == {OTHER_PHASE: 7, "learn": 0, "inner": 1}


def test_laps_split_the_sums() -> None:
    clock = HandClock()
    timers = PhaseTimers(clock)
    with timers.phase("learn"):
        clock.advance(2)
    assert timers.lap() == {OTHER_PHASE: 0, "learn": 2}
    with timers.phase("learn"):
        clock.advance(3)
    clock.advance(1)
    assert timers.lap() == {OTHER_PHASE: 1, "learn": 3}
    assert timers.seconds() == {OTHER_PHASE: 1, "learn": 5}


def test_loaded_sums_go_on_and_do_not_enter_the_next_lap() -> None:
    clock = HandClock()
    timers = PhaseTimers(clock)
    clock.advance(50)
    timers.load({"learn": 100.0})
    with timers.phase("learn"):
        clock.advance(1)
    assert timers.seconds() == {OTHER_PHASE: 0, "learn": 101}
    assert timers.lap() == {OTHER_PHASE: 0, "learn": 1}


ADVANCES = st.floats(0, 1e4, allow_nan=False)


@given(st.recursive(ADVANCES, lambda inner: st.tuples(st.sampled_from("abc"), st.lists(inner, max_size=4))))
def test_the_sums_always_equal_the_wall_time(script) -> None:
    clock = HandClock(0.0)
    timers = PhaseTimers(clock)

    def play(step) -> None:
        if isinstance(step, float):
            clock.advance(step)
            return
        name, inner = step
        with timers.phase(name):
            for each in inner:
                play(each)

    play(script)
    assert sum(timers.seconds().values()) == pytest.approx(clock.now, rel=1e-12, abs=1e-9)


def test_the_sums_equal_the_wall_time_on_the_real_clock() -> None:
    def unmeasured_seconds() -> float:
        began = time.monotonic()
        timers = PhaseTimers()
        for _ in range(1000):
            with timers.phase("a"), timers.phase("b"):
                sum(range(100))
        measured = sum(timers.seconds().values())
        return time.monotonic() - began - measured

    # Another process may come between the two clocks, not always.
    attempts = [unmeasured_seconds() for _ in range(5)]
    assert 0 <= min(attempts) < 0.05


def test_the_speed_is_that_of_the_window_only() -> None:
    clock = HandClock()
    speed = SpeedWindow(10.0, clock, 0)
    assert speed.per_second() == 0.0
    for second in range(1, 101):
        clock.advance(1)
        speed.add(second * 50 if second <= 50 else 2500 + (second - 50) * 400)
    assert speed.per_second() == 400.0


def test_a_stall_pulls_the_speed_down_to_nothing() -> None:
    clock = HandClock()
    speed = SpeedWindow(10.0, clock, 0)
    clock.advance(1)
    speed.add(1000)
    assert speed.per_second() == 1000.0
    clock.advance(4)
    assert speed.per_second() == 200.0
    clock.advance(100)
    assert speed.per_second() == 0.0


@given(st.lists(st.tuples(st.floats(0.001, 20), st.integers(0, 10_000)), min_size=1, max_size=60))
def test_the_speed_equals_a_slow_reference(steps: list[tuple[float, int]]) -> None:
    clock, window = HandClock(0.0), 10.0
    speed = SpeedWindow(window, clock, 0)
    history, total = [(0.0, 0)], 0
    for seconds, plies in steps:
        clock.advance(seconds)
        total += plies
        history.append((clock.now, total))
        speed.add(total)
    began, before = max((sample for sample in history if sample[0] <= clock.now - window), default=history[0])
    assert speed.per_second() == pytest.approx((total - before) / (clock.now - began))
