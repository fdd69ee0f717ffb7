"""Charts as SVG: what is drawn where, and what cannot be drawn."""

import math
from xml.etree import ElementTree

import pytest

from keisei.commands.report_charts import Line, Span, line_chart, short_number, ticks

SVG = "http://www.w3.org/2000/svg"


def parsed(chart: str) -> ElementTree.Element:
    return ElementTree.fromstring(chart)


def lines_of(chart: str) -> list[str]:
    paths = parsed(chart).iter("path")
    return [path.get("d", "") for path in paths if "line" in path.get("class", "").split()]


@pytest.mark.parametrize(
    ("span", "expected"),
    [
        (Span(0, 1), [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (Span(-0.02, 0.01), [-0.02, -0.01, 0.0, 0.01]),
        (Span(130, 1_638_400), [500_000, 1_000_000, 1_500_000]),
    ],
)
def test_ticks_are_round_and_inside(span: Span, expected: list[float]) -> None:
    assert ticks(span) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("value", "step", "text"),
    [
        (1_500_000, 500_000, "1.5M"),
        (21_500, 500, "21.5k"),
        (-0.0125, 0.0025, "−0.0125"),
        (0.0, 0.1, "0"),
        (120, 20, "120"),
        (2.5, 0.5, "2.5"),
    ],
)
def test_labels_are_short(value: float, step: float, text: str) -> None:
    assert short_number(value, step) == text


def test_a_line_goes_from_edge_to_edge_and_the_highest_value_is_on_top() -> None:
    (path,) = lines_of(line_chart([Line("a", [(0, 0), (5, 10), (10, 5)])], "title", "x"))
    points = [tuple(map(float, point.split())) for point in path.removeprefix("M").split("L")]
    assert points[0][0] < points[1][0] < points[2][0]
    assert points[1][1] < points[2][1] < points[0][1], "SVG counts from the top"


def test_values_that_are_no_numbers_are_gaps() -> None:
    points = [(0, 1), (1, 2), (2, math.nan), (3, math.inf), (4, 1), (5, 2)]
    assert len(lines_of(line_chart([Line("a", points)], "title", "x"))) == 2


@pytest.mark.parametrize("points", [[], [(0.0, math.nan)]])
def test_nothing_to_draw_is_said_in_words(points: list[tuple[float, float]]) -> None:
    assert "No values yet" in line_chart([Line("a", points)], "title", "x")


@pytest.mark.parametrize("value", [0.0, 5.0, -3.0, 1e-12, 1e300])
def test_one_value_is_drawn(value: float) -> None:
    assert len(lines_of(line_chart([Line("a", [(3, value)])], "title", "x"))) == 1


def test_bars_without_a_bound_end_at_the_edge() -> None:
    chart = line_chart([Line("a", [(0, 1), (1, 2)], [(0, -math.inf, math.inf)])], "title", "x", Span(0, 4))
    (bar,) = [path.get("d", "") for path in parsed(chart).iter("path") if "bar" in path.get("class", "")]
    assert "inf" not in bar
    assert "nan" not in bar


def test_names_are_text() -> None:
    chart = line_chart([Line("a", [(0, 1)])], "<script>\"'", "<b>")
    root = parsed(chart)
    assert root.get("aria-label") == "<script>\"'"
    assert not list(root.iter("script"))
    assert not list(root.iter("b"))
