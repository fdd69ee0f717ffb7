"""Scores and their error bars, against the quadratic that defines them and against simulation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisei.evaluation.scores import Score

Z = 1.959963984540054
COUNTS = st.integers(0, 2000)


def plausible(score: Score, share: float) -> bool:
    """Wilson's definition: a share is in the interval if the result lies within z of it, by its own spread."""
    return abs(score.share - share) <= Z * math.sqrt(share * (1 - share) / score.games)


@given(COUNTS, COUNTS, COUNTS)
def test_the_interval_ends_where_shares_stop_being_plausible(wins: int, draws: int, losses: int) -> None:
    score = Score(wins, draws, losses)
    if not score.games:
        return
    low, high = score.interval
    step = 1e-6
    assert 0 <= low <= score.share + step
    assert score.share - step <= high <= 1
    assert low < step or (plausible(score, low + step) and not plausible(score, low - step))
    assert high > 1 - step or (plausible(score, high - step) and not plausible(score, high + step))


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        # Published values of Wilson's 95 % interval: 8 of 10, 0 of 10, 10 of 10 (Newcombe 1998 and textbooks).
        (Score(8, 0, 2), (0.4902, 0.9433)),
        (Score(0, 0, 10), (0.0, 0.2775)),
        (Score(10, 0, 0), (0.7225, 1.0)),
        (Score(81, 0, 182), (0.2553, 0.3662)),
    ],
)
def test_known_intervals(score: Score, expected: tuple[float, float]) -> None:
    assert score.interval == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(("wins", "draws"), [(0.5, 0.0), (0.95, 0.0), (0.4, 0.3)])
def test_the_interval_covers_the_truth_in_nineteen_of_twenty_matches(wins: float, draws: float) -> None:
    truth = wins + draws / 2
    matches = np.random.default_rng(1).multinomial(200, [wins, draws, 1 - wins - draws], size=2000)
    covered = [low <= truth <= high for low, high in (Score(*map(int, match)).interval for match in matches)]
    assert np.mean(covered) >= 0.935
    if draws:
        assert np.mean(covered) > 0.96, "draws make the interval err on the wide side"


def test_a_draw_counts_half() -> None:
    assert Score(1, 2, 1).share == 0.5
    assert Score(3, 0, 1).share == 0.75
    assert Score(3, 2, 5).games == 10


def test_no_games_say_nothing() -> None:
    assert math.isnan(Score(0, 0, 0).share)
    assert Score(0, 0, 0).interval == (0.0, 1.0)


def test_more_games_narrow_the_interval() -> None:
    widths = [high - low for low, high in (Score(n, 0, n).interval for n in (5, 50, 500))]
    assert widths == sorted(widths, reverse=True)


def test_people_read_the_score_with_its_interval_and_counts() -> None:
    assert str(Score(8, 0, 2)) == "80.0% (95 %: 49.0% to 94.3%; 8 won, 0 drawn, 2 lost)"


def test_scores_add_up_and_can_be_seen_from_the_other_side() -> None:
    assert Score(1, 2, 3) + Score(10, 20, 30) == Score(11, 22, 33)
    assert Score(1, 2, 3).reversed() == Score(3, 2, 1)
