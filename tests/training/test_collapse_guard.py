"""When learning counts as collapsed: not after one bad figure, and not while results leave room for doubt."""

import pytest

from keisei.config_schema import GuardConfig
from keisei.record.journal_schema import PlayerRating
from keisei.record.strength import RatedUpdate
from keisei.training.collapse_guard import CollapseGuard

GOOD = {"entropy": 2.0, "explained_variance": 0.5, "truncated_share": 0.1}
SIGNS = [{"entropy": 0.01}, {"explained_variance": -3.0}, {"truncated_share": 0.9}]


def guard(patience: int = 3, rollbacks: int = 0) -> CollapseGuard:
    return CollapseGuard(GuardConfig(patience_updates=patience, max_rollbacks=rollbacks))


def verdicts(watched: CollapseGuard, *updates: dict[str, float]) -> list[str | None]:
    said = []
    for metrics in updates:
        watched.note({**GOOD, **metrics})
        said.append(watched.verdict())
    return said


def rated(update: int, low: float, high: float) -> RatedUpdate:
    return RatedUpdate(update, PlayerRating(f"policy:run@{update}", (low + high) / 2, low, high, 10))


@pytest.mark.parametrize("sign", SIGNS)
def test_a_sign_that_lasts_is_said_once_in_words(sign: dict[str, float]) -> None:
    said = verdicts(guard(), sign, sign, sign, sign)
    assert said[:2] == [None, None]
    assert said[2] is not None
    assert said[2].startswith("learning has collapsed, for 3 updates in a row: ")
    assert said[3] is None


def test_a_sign_that_goes_away_counts_from_the_beginning() -> None:
    bad = SIGNS[0]
    assert verdicts(guard(), bad, bad, {}, bad, bad) == [None] * 5


def test_a_figure_that_is_missing_says_nothing() -> None:
    watched = guard()
    for metrics in (SIGNS[2], SIGNS[2], {}, SIGNS[2]):
        watched.note(metrics)
    assert watched.verdict() is not None, "in the third update no game ended, so none was cut off"
    watched.note({})
    assert watched.verdict() is None, "it is not said again"


def test_signs_are_counted_each_by_itself() -> None:
    assert verdicts(guard(), SIGNS[0], SIGNS[1], SIGNS[2]) == [None] * 3


def test_a_guard_without_patience_is_off() -> None:
    watched = guard(patience=0)
    assert verdicts(watched, *[SIGNS[0]] * 20) == [None] * 20
    assert watched.strength_verdict(rated(2, -500, -400), rated(1, 300, 400)) is None


def test_weaker_is_only_who_is_weaker_beyond_doubt() -> None:
    best = rated(10, 300, 400)
    assert guard().strength_verdict(rated(20, 100, 301), best) is None
    words = guard().strength_verdict(rated(20, 100, 299), best)
    assert words == (
        "the network has become weaker: +200 Elo [+100, +299] after update 20, but "
        "+350 Elo [+300, +400] after update 10"
    )


def test_rollbacks_are_counted_and_lower_the_learning_rate() -> None:
    watched = guard(rollbacks=2)
    assert (watched.may_roll_back, watched.is_out_of_rollbacks, watched.learning_rate_factor) == (
        True,
        False,
        1,
    )
    watched.load_state(watched.state_after_rollback())
    assert (watched.may_roll_back, watched.learning_rate_factor) == (True, 0.5)
    watched.load_state(watched.state_after_rollback())
    assert (watched.may_roll_back, watched.is_out_of_rollbacks, watched.learning_rate_factor) == (
        False,
        True,
        0.25,
    )
    assert not guard().may_roll_back
    assert not guard().is_out_of_rollbacks


def test_a_resumed_run_counts_on() -> None:
    watched, resumed = guard(), guard()
    verdicts(watched, SIGNS[0], SIGNS[0])
    assert not watched.is_healthy
    assert watched.shows_signs(watched.state())
    resumed.load_state(watched.state())
    assert verdicts(resumed, SIGNS[0])[0] is not None
    resumed.load_state({})
    assert resumed.is_healthy
