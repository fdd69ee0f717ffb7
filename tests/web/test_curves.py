import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisei.record.journal_reader import MetricPoint
from keisei.web.curves import (
    AXES,
    CATALOGUE,
    Line,
    axis_place,
    chart,
    smoothed,
    stretch_length,
    thinned,
)

numbers = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60)


def points(values: list[float]) -> list[MetricPoint]:
    return [
        MetricPoint(index + 1, 100 * (index + 1), 3600.0 * index, value) for index, value in enumerate(values)
    ]


@given(numbers)
def test_without_smoothing_values_stay(values: list[float]) -> None:
    assert smoothed(values, 0.0) == pytest.approx(values)


@given(numbers, st.floats(0, 0.98))
def test_smoothing_is_a_weighted_mean_of_the_past(values: list[float], weight: float) -> None:
    result = smoothed(values, weight)
    for index in range(len(values)):
        weights = weight ** np.arange(index, -1, -1)
        assert result[index] == pytest.approx(
            np.average(values[: index + 1], weights=weights), rel=1e-6, abs=1e-3
        )


def test_gaps_stay_gaps_and_do_not_spread() -> None:
    result = smoothed([1.0, math.nan, 3.0], 0.5)
    assert math.isnan(result[1])
    assert result[2] == pytest.approx((0.5 * 1 + 1 * 3) / 1.5)


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=300), st.integers(2, 50))
def test_thinning_keeps_the_ends_the_order_and_the_range(values: list[float], limit: int) -> None:
    pairs = [(float(index), value) for index, value in enumerate(values)]
    thin = thinned(pairs, limit)
    assert len(thin) <= max(limit, 2)
    assert thin[-1] == pairs[-1]
    assert [x for x, _ in thin] == sorted(x for x, _ in thin)
    assert min(values) - 1e-6 <= min(y for _, y in thin) <= max(y for _, y in thin) <= max(values) + 1e-6


def test_axes_count_updates_plies_and_hours() -> None:
    line = points([1.0, 2.0, 3.0])
    places = {axis: [axis_place(point, axis, line[0]) for point in line] for axis in AXES}
    assert places == {"updates": [1, 2, 3], "plies": [100, 200, 300], "hours": [0.0, 1.0, 2.0]}
    assert AXES == ("updates", "plies", "hours")


@given(st.integers(1, 5_000), st.integers(2, 300))
def test_stretches_are_as_short_as_they_may_be_and_only_ever_double(count: int, limit: int) -> None:
    length = stretch_length(count, limit)
    assert math.ceil((count - 1) / length) + 1 <= limit
    assert length == 1 or math.ceil((count - 1) / (length // 2)) + 1 > limit
    assert stretch_length(count + 1, limit) in (length, 2 * length)


def test_tooltips_are_drawn_and_not_written_as_html() -> None:
    options = chart([Line("<b>", "[[1,2]]")], "updates", log=True, dark=None)
    assert options["tooltip"]["renderMode"] == "richText"
    assert options["yAxis"]["type"] == "log"


def test_every_curve_says_what_good_looks_like_and_no_metric_stands_twice() -> None:
    metrics = [metric for curve in CATALOGUE for metric in curve.metrics]
    assert len(metrics) == len(set(metrics))
    assert all(curve.good.endswith(".") for curve in CATALOGUE)
