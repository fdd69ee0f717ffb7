"""Ratings: agreement with choix, intervals that hold what they promise, and results that bound nothing."""

import math

import choix
import numpy as np
import pytest

from keisei.evaluation.likelihood import NATS_PER_ELO, expected_score
from keisei.evaluation.rating_model import Pairings
from keisei.evaluation.ratings import Rating, elo_difference, fit_ratings, rating_intervals

REPETITIONS = 1000


def simulated_counts(
    strengths: np.ndarray, pairings: list[tuple[int, int]], pairs: int, draws: float, seed: int
) -> Pairings:
    """Result tables of many repetitions: pairs of games between players of known strength, with some draws."""
    random = np.random.default_rng(seed)
    counts = np.zeros((REPETITIONS, len(pairings), 5))
    for m, (first, second) in enumerate(pairings):
        score = 1 / (1 + np.exp(strengths[second] - strengths[first]))
        drawn = 4 * draws * score * (1 - score)
        lots = random.random((REPETITIONS, pairs, 2))
        points = np.where(lots < score - drawn / 2, 1.0, np.where(lots < score + drawn / 2, 0.5, 0.0)).mean(
            axis=2
        )
        for index in range(5):
            counts[:, m, index] = (points == index / 4).sum(axis=1)
    first_players, second_players = np.array(pairings).T
    return Pairings(first_players, second_players, counts)


@pytest.mark.parametrize(
    ("pairings", "pairs", "draws"),
    [
        ([(1, 0), (2, 1), (2, 0)], 30, 0.1),
        ([(1, 0), (2, 1)], 40, 0.0),
        ([(1, 0), (2, 1), (2, 0)], 20, 0.4),
    ],
    ids=["round robin", "chain without draws", "many draws"],
)
def test_intervals_cover_the_truth_in_nineteen_of_twenty_repetitions(
    pairings: list[tuple[int, int]], pairs: int, draws: float
) -> None:
    truth = np.array([0.0, 0.8, 1.5])
    found = rating_intervals(simulated_counts(truth, pairings, pairs, draws, seed=1), len(truth), 0)
    covered = ((found.low <= truth) & (truth <= found.high)).mean(axis=0)
    assert covered[0] == 1
    assert covered[1:] == pytest.approx(0.95, abs=0.02)


def coverage_of_a_match(pairs: int, strength: float) -> float:
    truth = np.array([0.0, strength])
    found = rating_intervals(simulated_counts(truth, [(1, 0)], pairs, 0.15, seed=2), 2, 0)
    return float(((found.low <= truth) & (truth <= found.high)).mean(axis=0)[1])


@pytest.mark.parametrize("pairs", [20, 50, 100])
@pytest.mark.parametrize("strength", [0.0, 0.4, 1.0])
def test_the_interval_of_one_match_covers_the_truth(pairs: int, strength: float) -> None:
    assert coverage_of_a_match(pairs, strength) == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize("pairs", [4, 8, 12])
@pytest.mark.parametrize("strength", [0.0, 0.4, 2.0])
def test_the_interval_of_a_short_match_errs_on_the_wide_side(pairs: int, strength: float) -> None:
    assert coverage_of_a_match(pairs, strength) > 0.94


@pytest.mark.parametrize("seed", range(3))
def test_point_estimates_agree_with_choix(seed: int) -> None:
    random = np.random.default_rng(seed)
    strengths = random.normal(0, 1, 6)
    results, games = {}, []
    for first in range(6):
        for second in range(first):
            wins = int(random.binomial(30, 1 / (1 + np.exp(strengths[second] - strengths[first]))))
            results[str(first), str(second)] = (30 - wins, 0, 0, 0, wins)
            games += [(first, second)] * wins + [(second, first)] * (30 - wins)
    theirs = choix.ilsr_pairwise(6, games)
    ours = {rating.name: rating.elo for rating in fit_ratings(results, "0", games_per_count=1)}
    assert [ours[str(player)] for player in range(6)] == pytest.approx(
        (theirs - theirs[0]) / NATS_PER_ELO, abs=1e-2
    )


def test_one_match_is_worth_the_elo_of_its_score() -> None:
    found = elo_difference((2, 3, 10, 5, 10))
    assert expected_score(found.elo) == pytest.approx((3 * 0.25 + 10 * 0.5 + 5 * 0.75 + 10) / 30, abs=1e-6)
    assert found.low < found.elo < found.high
    assert found.games == 60


def test_more_games_narrow_the_interval_and_pairs_that_even_out_narrow_it_more() -> None:
    few, many = elo_difference((2, 1, 4, 1, 4)), elo_difference((20, 10, 40, 10, 40))
    assert many.width < few.width / 2
    even, uneven = elo_difference((1, 2, 50, 2, 1)), elo_difference((28, 0, 0, 0, 28))
    assert even.width < uneven.width / 2


def test_a_whitewash_has_a_bound_on_one_side_only() -> None:
    won, lost = elo_difference((0, 0, 0, 0, 20)), elo_difference((20, 0, 0, 0, 0))
    assert (won.elo, won.high) == (math.inf, math.inf)
    assert 200 < won.low < 500
    assert (lost.elo, lost.low, lost.high) == (-math.inf, -math.inf, pytest.approx(-won.low, abs=1))
    assert str(won).startswith("above +")
    assert str(lost).startswith("below -")


def test_a_whitewash_in_the_middle_leaves_everybody_above_without_an_upper_bound() -> None:
    ratings = {
        rating.name: rating
        for rating in fit_ratings(
            {("b", "a"): (1, 0, 2, 0, 9), ("c", "b"): (0, 0, 0, 0, 12), ("d", "c"): (3, 0, 3, 0, 6)}, "a"
        )
    }
    assert math.isfinite(ratings["b"].high)
    assert ratings["c"].high == ratings["d"].high == math.inf
    assert ratings["d"].low > ratings["b"].low
    assert math.isfinite(ratings["d"].low)


def test_who_never_met_the_zero_is_unknown() -> None:
    ratings = fit_ratings({("b", "a"): (1, 0, 2, 0, 3), ("d", "c"): (1, 0, 2, 0, 3)}, "a")
    assert [rating.name for rating in ratings[:2]] == ["b", "a"]
    assert [str(rating) for rating in ratings[2:]] == ["unknown", "unknown"]


def test_no_results_leave_the_zero_alone() -> None:
    ratings = fit_ratings({}, "random")
    assert ratings == [Rating("random", 0.0, 0.0, 0.0, 0)]
    assert str(ratings[0]) == "0"


def test_ratings_are_sorted_and_count_games() -> None:
    ratings = fit_ratings({("b", "a"): (1, 0, 2, 0, 9), ("c", "b"): (2, 0, 3, 0, 5)}, "a")
    assert [(rating.name, rating.games) for rating in ratings] == [("c", 20), ("b", 44), ("a", 24)]
    assert str(ratings[0]).startswith("+")


def test_the_order_of_names_in_a_pairing_does_not_matter() -> None:
    one = fit_ratings({("b", "a"): (1, 2, 3, 4, 5), ("c", "a"): (0, 1, 2, 2, 4)}, "a")
    other = fit_ratings({("a", "b"): (5, 4, 3, 2, 1), ("a", "c"): (4, 2, 2, 1, 0)}, "a")
    for ours, theirs in zip(one, other, strict=True):
        assert ours.name == theirs.name
        assert (ours.elo, ours.low, ours.high) == pytest.approx(
            (theirs.elo, theirs.low, theirs.high), abs=0.2
        )
