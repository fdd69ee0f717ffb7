"""Tests of keisei.record.metrics."""

import json
from collections import Counter

import pytest
from hand_clock import HandClock
from hypothesis import given
from hypothesis import strategies as st

from keisei.errors import CheckpointError
from keisei.record.metrics import GameResult, Interval, Metrics, TimeInterval

RESULTS = st.builds(
    GameResult,
    st.sampled_from(["black", "white", None]),
    st.sampled_from(["checkmate", "max_plies", "repetition"]),
)
ROLLOUTS = st.lists(st.tuples(st.integers(0, 5000), st.lists(RESULTS, max_size=20)), max_size=20)


@given(ROLLOUTS)
def test_b2_every_game_is_counted_once_in_every_sum(rollouts) -> None:
    metrics = Metrics()
    for plies, results in rollouts:
        metrics.count_rollout(plies, results)
    games = [result for _, results in rollouts for result in results]
    assert metrics.games == len(games)
    assert metrics.results == dict(Counter(games))
    assert sum(metrics.results_by_winner.values()) == sum(metrics.results_by_reason.values()) == len(games)
    assert metrics.results_by_winner == {
        "black": sum(game.winner == "black" for game in games),
        "white": sum(game.winner == "white" for game in games),
        "none": sum(game.winner is None for game in games),
    }
    assert metrics.results_by_reason == dict(Counter(game.reason for game in games))


def test_b2_reading_the_results_counts_nothing() -> None:
    metrics = Metrics()
    metrics.count_rollout(10, [GameResult("black", "checkmate")])
    metrics.results.update({GameResult("white", "checkmate"): 5})
    metrics.results_by_reason["checkmate"] += 5
    assert metrics.games == 1


def test_the_most_frequent_reason_comes_first() -> None:
    metrics = Metrics()
    metrics.count_rollout(1, [GameResult(None, "repetition")] + [GameResult("white", "checkmate")] * 3)
    assert list(metrics.results_by_reason) == ["checkmate", "repetition"]


def test_b1_b12_the_global_step_has_one_writer() -> None:
    metrics = Metrics()
    metrics.count_rollout(128, [])
    metrics.count_rollout(0, [])
    metrics.count_rollout(64, [])
    assert metrics.global_timestep == 192
    for name in ("global_timestep", "updates", "games"):
        with pytest.raises(AttributeError):
            setattr(metrics, name, 5)
    with pytest.raises(ValueError, match="-1"):
        metrics.count_rollout(-1, [])
    assert metrics.global_timestep == 192


def test_updates_are_numbered_from_one_and_do_not_move_the_plies() -> None:
    metrics = Metrics()
    assert [metrics.count_update() for _ in range(3)] == [1, 2, 3]
    assert (metrics.updates, metrics.global_timestep) == (3, 0)


@pytest.mark.parametrize("pieces", [1, 4, 64])
def test_b11_the_speed_does_not_depend_on_who_collected_the_plies(pieces: int) -> None:
    clock = HandClock()
    metrics = Metrics(clock, speed_window_seconds=30)
    for _ in range(100):
        clock.advance(1)
        for _ in range(pieces):  # one rollout in-process, or one from each of several workers
            metrics.count_rollout(6400 // pieces, [])
    assert metrics.plies_per_second == 6400.0


def test_phases_sum_to_the_elapsed_time() -> None:
    clock = HandClock()
    metrics = Metrics(clock)
    clock.advance(1)
    with metrics.phase("collect"):
        clock.advance(4)
    assert metrics.phase_seconds() == {"other": 1, "collect": 4}
    assert metrics.elapsed_seconds == 5
    assert metrics.lap_seconds() == {"other": 1, "collect": 4}


@given(ROLLOUTS, st.integers(0, 10))
def test_the_state_survives_json_and_counts_on(rollouts, updates: int) -> None:
    clock = HandClock()
    metrics = Metrics(clock)
    for plies, results in rollouts:
        with metrics.phase("collect"):
            clock.advance(2.5)
        metrics.count_rollout(plies, results)
    for _ in range(updates):
        metrics.count_update()
    resumed = Metrics(clock)
    resumed.load_state_dict(json.loads(json.dumps(metrics.state_dict(), allow_nan=False)))
    assert resumed.state_dict() == metrics.state_dict()
    for each in (metrics, resumed):
        each.count_rollout(7, [GameResult("black", "checkmate")])
    assert (resumed.global_timestep, resumed.results) == (metrics.global_timestep, metrics.results)


def test_a_resume_shows_no_leap_in_speed_and_no_time_for_the_pause() -> None:
    clock = HandClock()
    metrics = Metrics(clock)
    clock.advance(10)
    metrics.count_rollout(1_000_000, [])
    state = metrics.state_dict()
    clock.advance(1000)
    resumed = Metrics(clock)
    resumed.load_state_dict(state)
    assert (resumed.plies_per_second, resumed.elapsed_seconds) == (0.0, 10.0)
    clock.advance(2)
    resumed.count_rollout(100, [])
    assert (resumed.plies_per_second, resumed.elapsed_seconds) == (50.0, 12.0)


@pytest.mark.parametrize(
    "damage",
    [
        {"plies": "many"},
        {"results": [["black", 1]]},
        {"results": 3},
        {"phase_seconds": []},
        {"updates": None},
    ],
)
def test_a_damaged_state_is_refused_and_changes_nothing(damage: dict) -> None:
    metrics = Metrics()
    metrics.count_rollout(5, [GameResult("black", "checkmate")])
    before = {key: value for key, value in metrics.state_dict().items() if key != "phase_seconds"}
    with pytest.raises(CheckpointError, match="phase_seconds"):
        metrics.load_state_dict({**metrics.state_dict(), **damage})
    assert {key: value for key, value in metrics.state_dict().items() if key != "phase_seconds"} == before


@given(st.integers(1, 50), st.integers(1, 300))
def test_b1_b12_an_interval_fires_at_every_multiple_and_nowhere_else(every: int, steps: int) -> None:
    interval = Interval(every)
    fired = [step for step in range(1, steps + 1) if interval.due(step)]
    assert fired == list(range(every, steps + 1, every))


def test_b1_b12_asking_twice_at_the_same_step_fires_once() -> None:
    interval = Interval(10)
    assert [interval.due(step) for step in (9, 10, 10, 11)] == [False, True, False, False]


@given(st.integers(1, 50), st.lists(st.integers(0, 120), max_size=40))
def test_b1_b12_a_jump_over_multiples_fires_once_at_the_first_step_after(
    every: int, jumps: list[int]
) -> None:
    interval, step, fired_for = Interval(every), 0, 0
    for jump in jumps:
        step += jump
        expected = step // every > fired_for
        fired_for = step // every
        assert interval.due(step) is expected


def test_b3_nothing_is_due_at_step_zero_and_nothing_ever_with_zero() -> None:
    assert not Interval(1).due(0)
    assert not any(Interval(0).due(step) for step in range(100))


@given(st.integers(1, 30), st.integers(0, 200))
def test_b3_a_resumed_interval_continues_as_if_never_stopped(every: int, stop: int) -> None:
    whole, before, after = Interval(every), Interval(every), Interval(every, start=stop)
    straight = [step for step in range(1, 301) if whole.due(step)]
    resumed = [step for step in range(1, stop + 1) if before.due(step)]
    resumed += [step for step in range(stop + 1, 301) if after.due(step)]
    assert resumed == straight


def test_an_interval_refuses_nonsense() -> None:
    for arguments in ((-1,), (1, -1)):
        with pytest.raises(ValueError, match="-1"):
            Interval(*arguments)
    interval = Interval(5, start=7)
    with pytest.raises(ValueError, match="got 6 after 7"):
        interval.due(6)
    with pytest.raises(ValueError, match=r"-0\.5"):
        TimeInterval(-0.5)


def test_a_time_interval_is_due_once_per_span_and_counts_from_the_last_time() -> None:
    clock = HandClock()
    interval = TimeInterval(10, clock)
    fired = []
    for second in range(1, 36):
        clock.advance(1)
        if second != 20 and interval.due():  # nobody asked at second 20
            fired.append(second)
    assert fired == [10, 21, 31]


def test_a_time_interval_of_zero_is_never_due() -> None:
    clock = HandClock()
    interval = TimeInterval(0, clock)
    clock.advance(1e9)
    assert not interval.due()
