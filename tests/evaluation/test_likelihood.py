"""The profile likelihood of a mean score, against a general optimiser, closed forms and finite differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from keisei.evaluation.likelihood import (
    VALUES,
    Array,
    category,
    expected_score,
    mean_likelihood,
    with_spread,
)

TABLES = (
    (5, 0, 7, 2, 9),
    (0, 2, 3, 0, 0),
    (0, 1, 8, 3, 0),
    (10, 0, 0, 0, 7),
    (0, 0, 0, 0, 6),
    (0, 0, 0, 4, 0),
    (40, 1, 0, 0, 0),
)
#: Here a category that was never seen begins to help, and the curvature jumps.
JUMP = ((0, 1, 8, 3, 0), 0.5)
MEANS = (0.05, 0.3, 0.5, 0.62, 0.95)

counts = st.lists(st.integers(0, 60), min_size=5, max_size=5).filter(lambda table: sum(table) > 0)
means = st.floats(0.001, 0.999)


def likelihood(table: object, mean: object) -> Array:
    return mean_likelihood(np.asarray(table, float), np.asarray(mean, float)).value


def probabilities(logits: Array) -> Array:
    powers: Array = np.exp(logits - logits.max())
    return powers / powers.sum()


def by_optimiser(table: tuple[int, ...], mean: float) -> float:
    """The same maximum over all five probabilities, by sequential quadratic programming.

    It does not arrive from every start; the best of those that keep the mean counts.
    """
    seen = np.array(table, float)

    def loss(logits: Array) -> float:
        return -float((seen * np.log(np.maximum(probabilities(logits), 1e-300))).sum())

    def miss(logits: Array) -> float:
        return float(probabilities(logits) @ VALUES) - mean

    starts = (np.zeros(5), np.log(seen + 0.1), np.log(seen + 5))
    options = {"maxiter": 1000, "ftol": 1e-12}
    found = [
        minimize(loss, start, constraints={"type": "eq", "fun": miss}, options=options) for start in starts
    ]
    best = min(float(each.fun) for each in found if abs(miss(each.x)) < 1e-7)
    shares = seen[seen > 0] / seen.sum()
    return -best - float((seen[seen > 0] * np.log(shares)).sum())


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("mean", MEANS)
def test_no_distribution_with_that_mean_explains_the_counts_better(
    table: tuple[int, ...], mean: float
) -> None:
    assert float(likelihood(table, mean)) == pytest.approx(by_optimiser(table, mean), abs=1e-4)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("mean", MEANS)
def test_slope_and_curvature_are_those_of_the_likelihood(table: tuple[int, ...], mean: float) -> None:
    step = 1e-5
    below, here, above = (float(likelihood(table, mean + shift)) for shift in (-step, 0, step))
    found = mean_likelihood(np.array(table, float), np.array(mean))
    assert float(found.slope) == pytest.approx((above - below) / (2 * step), rel=1e-3, abs=1e-3)
    if (table, mean) != JUMP:
        assert float(found.curvature) == pytest.approx(
            (above + below - 2 * here) / step**2, rel=1e-2, abs=1e-2
        )


@given(wins=st.integers(0, 100), losses=st.integers(0, 100), mean=means)
def test_single_games_without_draws_are_binomial(wins: int, losses: int, mean: float) -> None:
    games = wins + losses
    expected = 0.0
    for seen, chance in ((wins, mean), (losses, 1 - mean)):
        expected += seen * np.log(chance * games / seen) if seen else 0.0
    assert float(likelihood((losses, 0, 0, 0, wins), mean)) == pytest.approx(expected, abs=1e-8)


@given(table=counts)
def test_the_mean_of_the_counts_is_the_likeliest(table: list[int]) -> None:
    best = float(np.clip(np.array(table) @ VALUES / sum(table), 1e-9, 1 - 1e-9))
    assert float(likelihood(table, best)) == pytest.approx(0, abs=1e-5)


@given(table=counts, mean=means)
def test_it_is_never_positive_and_the_same_from_the_other_side(table: list[int], mean: float) -> None:
    value = float(likelihood(table, mean))
    assert value <= 1e-9
    assert float(likelihood(table[::-1], 1 - mean)) == pytest.approx(value, rel=1e-7, abs=1e-9)


@given(table=counts, first=means, second=means)
def test_it_is_concave(table: list[int], first: float, second: float) -> None:
    ends = [float(likelihood(table, mean)) for mean in (first, second)]
    middle = float(likelihood(table, (first + second) / 2))
    assert middle >= sum(ends) / 2 - 1e-7


@given(tables=st.lists(counts, min_size=1, max_size=6), mean=means)
def test_tables_are_judged_together_as_one_by_one(tables: list[list[int]], mean: float) -> None:
    together = likelihood(tables, [mean] * len(tables))
    alone = [float(likelihood(table, mean)) for table in tables]
    assert together.tolist() == pytest.approx(alone, rel=1e-9, abs=1e-9)


def test_no_results_say_nothing() -> None:
    found = mean_likelihood(np.zeros(5), np.array(0.3))
    assert [float(number) for number in found] == [0, 0, 0]


def test_results_that_are_all_alike_are_spread_unless_they_are_extreme() -> None:
    tables = np.array(
        [[0, 0, 8, 0, 0], [0, 3, 0, 0, 0], [0, 0, 0, 0, 8], [1, 0, 7, 0, 0], [0, 0, 0, 0, 0]], float
    )
    assert with_spread(tables).tolist() == [
        [0, 0.5, 7, 0.5, 0],
        [0.5, 2, 0.5, 0, 0],
        [0, 0, 0, 0, 8],
        [1, 0, 7, 0, 0],
        [0, 0, 0, 0, 0],
    ]


def test_elo_and_scores_belong_together() -> None:
    assert expected_score(0) == 0.5
    assert expected_score(400) == pytest.approx(10 / 11)
    assert [category(value) for value in (0, 0.25, 0.5, 0.75, 1)] == [0, 1, 2, 3, 4]
