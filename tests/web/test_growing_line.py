import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_runs import record_run

from keisei.record.journal_reader import MetricPoint
from keisei.web.curves import AXES, MAX_POINTS, Axis, smoothed, thinned
from keisei.web.growing_line import GrowingLine, growing_line
from keisei.web.run_feed import RunFeed

values = st.lists(st.floats(-1e3, 1e3) | st.just(math.nan), min_size=1, max_size=80)


def points(numbers: list[float]) -> list[MetricPoint]:
    return [
        MetricPoint(index + 1, 100 * (index + 1), 3600.0 * index, value)
        for index, value in enumerate(numbers)
    ]


def shown(line: GrowingLine, all_points: list[MetricPoint]) -> list[list[float | None]]:
    found: list[list[float | None]] = json.loads(line.text(all_points))
    return found


@given(values, st.sampled_from(AXES), st.floats(0, 0.98), st.integers(3, 20))
def test_a_line_that_grew_is_the_line_that_is_drawn_at_once(
    numbers: list[float], axis: Axis, smoothing: float, limit: int
) -> None:
    line, so_far = GrowingLine(axis, smoothing, log=False, limit=limit), []
    for point in points(numbers):
        so_far.append(point)
        grown = line.text(so_far)
    assert grown == GrowingLine(axis, smoothing, log=False, limit=limit).text(so_far)


@given(values, st.floats(0, 0.98))
def test_points_are_thinned_and_then_smoothed(numbers: list[float], smoothing: float) -> None:
    pairs = thinned([(float(point.update), point.value) for point in points(numbers)], limit=10)
    means = smoothed([value for _, value in pairs], smoothing)
    found = shown(GrowingLine("updates", smoothing, log=False, limit=10), points(numbers))
    assert [x for x, _ in found] == pytest.approx([x for x, _ in pairs])
    for (_, value), mean in zip(found, means, strict=True):
        assert value is None if math.isnan(mean) else value == pytest.approx(mean, rel=1e-4)


def test_a_logarithm_shows_no_number_that_it_has_not() -> None:
    line = points([-1.0, 0.0, 2.0])
    assert shown(GrowingLine("updates", 0.0, log=True), line) == [[1, None], [2, None], [3, 2.0]]
    assert shown(GrowingLine("updates", 0.0, log=False), line) == [[1, -1.0], [2, 0.0], [3, 2.0]]
    assert shown(GrowingLine("updates", 0.0, log=False), points([math.inf])) == [[1, None]]


def test_a_long_line_has_no_more_points_than_a_chart_can_show() -> None:
    long = points([float(index % 2) for index in range(10 * MAX_POINTS)])
    found = shown(GrowingLine("plies", 0.0, log=False), long)
    assert MAX_POINTS / 2 < len(found) <= MAX_POINTS
    assert found[-1] == [long[-1].plies, long[-1].value]
    assert all(value is not None and 0.3 < value < 0.7 for _, value in found[:-2])


def test_a_run_that_begins_anew_is_another_line() -> None:
    line = GrowingLine("updates", 0.0, log=False)
    assert shown(line, points([1.0, 2.0, 3.0])) == [[1, 1.0], [2, 2.0], [3, 3.0]]
    assert shown(line, points([1.0, 2.0, 9.0])) == [[1, 1.0], [2, 2.0], [3, 9.0]]
    assert shown(line, []) == []


def test_visitors_who_look_alike_share_a_line(tmp_path: Path) -> None:
    feed = RunFeed(record_run(tmp_path, "quiet-lance", updates=3, games=1))
    assert growing_line(feed, "entropy", "plies", 0.5, False) is growing_line(
        feed, "entropy", "plies", 0.5, False
    )
    assert growing_line(feed, "entropy", "plies", 0.5, False) is not growing_line(
        feed, "entropy", "plies", 0.6, False
    )
