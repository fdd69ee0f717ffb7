"""The joint likelihood of ratings: its maximum and its profile, against a general optimiser."""

import numpy as np
import pytest
from scipy.optimize import minimize

from keisei.evaluation.likelihood import mean_likelihood
from keisei.evaluation.rating_model import Pairings, ProfileBounds, RatingModel, fixed_players

# Four players in a ring with a chord, with draws, pairs and near whitewashes.
FIRST = np.array([1, 2, 3, 3, 0])
SECOND = np.array([0, 1, 2, 0, 2])
COUNTS = np.array(
    [[1, 0, 6, 3, 10], [2, 3, 9, 1, 5], [0, 0, 1, 0, 19], [0, 1, 0, 0, 30], [12, 3, 4, 0, 1]], float
)
PLAYERS = 4
LIMIT = 1.96


def model() -> RatingModel:
    return RatingModel(Pairings(FIRST, SECOND, COUNTS), PLAYERS)


def plain_loss(ratings: np.ndarray) -> float:
    means = 1 / (1 + np.exp(-(ratings[FIRST] - ratings[SECOND])))
    return -float(mean_likelihood(COUNTS, means).value.sum())


def plain_best(fixed: dict[int, float]) -> tuple[np.ndarray, float]:
    free = [player for player in range(PLAYERS) if player not in fixed]

    def whole(values: np.ndarray) -> np.ndarray:
        ratings = np.zeros(PLAYERS)
        ratings[list(fixed)] = list(fixed.values())
        ratings[free] = values
        return ratings

    found = minimize(
        lambda values: plain_loss(whole(values)),
        np.zeros(len(free)),
        method="Nelder-Mead",
        options={"xatol": 1e-7, "fatol": 1e-10, "maxiter": 20_000, "maxfev": 20_000},
    )
    return whole(found.x), -float(found.fun)


def best() -> tuple[np.ndarray, np.ndarray]:
    return model().maximum(np.zeros(PLAYERS), fixed_players(PLAYERS, [0], ()))


def test_the_maximum_is_the_one_that_a_plain_search_finds() -> None:
    ratings, value = best()
    expected, expected_value = plain_best({0: 0.0})
    assert ratings == pytest.approx(expected, abs=1e-3)
    assert float(value) == pytest.approx(expected_value, abs=1e-4)


def test_at_a_bound_the_best_of_all_others_has_lost_just_enough() -> None:
    ratings, value = best()
    bounds = ProfileBounds(model(), ratings, value, 0, np.array(LIMIT)).find()
    for row, player in enumerate((1, 2, 3)):
        assert bounds[row, 0] < ratings[player] < bounds[row, 1]
        for bound in bounds[row]:
            _, at_bound = plain_best({0: 0.0, player: float(bound)})
            assert np.sqrt(2 * (float(value) - at_bound)) == pytest.approx(LIMIT, abs=5e-3)


def test_the_information_is_the_curvature() -> None:
    ratings, _ = best()
    information, step = model().information(ratings), 1e-3
    for player in (1, 2, 3):
        shift = step * np.eye(PLAYERS)[player]
        bend = plain_loss(ratings + shift) + plain_loss(ratings - shift) - 2 * plain_loss(ratings)
        assert information[player, player] == pytest.approx(bend / step**2, rel=1e-2)


def test_many_tables_are_solved_as_one_by_one() -> None:
    tables = np.stack([COUNTS, COUNTS[:, ::-1], COUNTS * 3])
    together, _ = RatingModel(Pairings(FIRST, SECOND, tables), PLAYERS).maximum(
        np.zeros((3, PLAYERS)), fixed_players(PLAYERS, [0], (3,))
    )
    for table, ratings in zip(tables, together, strict=True):
        alone, _ = RatingModel(Pairings(FIRST, SECOND, table), PLAYERS).maximum(
            np.zeros(PLAYERS), fixed_players(PLAYERS, [0], ())
        )
        assert ratings == pytest.approx(alone, abs=1e-4)


def test_ratings_are_bounded_where_points_lead_from_and_to_the_zero() -> None:
    # 1 beat 0 always; 2 and 1 both scored; 3 lost everything against 0; 4 never met anybody.
    pairings = Pairings(
        np.array([1, 2, 3]),
        np.array([0, 1, 0]),
        np.array([[0, 0, 0, 0, 9], [1, 0, 3, 0, 5], [9, 0, 0, 0, 0]], float),
    )
    no_low, no_high = RatingModel(pairings, 5).can_be_unbounded(0)
    assert no_low.tolist() == [False, False, False, True, True]
    assert no_high.tolist() == [False, True, True, False, True]
