"""Tests of keisei.record.figures."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisei.record.figures import ASCII_BLOCKS, BLOCKS, NOT_A_NUMBER, duration, sparkline


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min 0 s"),
        (252, "4 min 12 s"),
        (3599, "59 min 59 s"),
        (3600, "1 h 0 min"),
        (86_399, "23 h 59 min"),
        (2 * 86_400 + 3 * 3600 + 59, "2 d 3 h"),
    ],
)
def test_a_duration_has_its_two_largest_units(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_rising_line_rises_through_every_block() -> None:
    assert sparkline(range(8), 8) == BLOCKS
    assert sparkline(range(8), 8, ascii_only=True) == ASCII_BLOCKS


def test_only_the_newest_values_are_drawn() -> None:
    assert sparkline([100, 0, 7], 2) == BLOCKS[0] + BLOCKS[-1]
    assert sparkline([1, 2], 0) == ""
    assert sparkline([], 5) == ""


def test_what_is_no_number_stands_out_and_does_not_spoil_the_scale() -> None:
    assert sparkline([0, math.nan, 1, math.inf], 4) == BLOCKS[0] + NOT_A_NUMBER + BLOCKS[-1] + NOT_A_NUMBER
    assert sparkline([math.nan], 4) == NOT_A_NUMBER


@given(st.lists(st.floats(), max_size=40), st.integers(0, 30))
def test_a_sparkline_fits_its_width_whatever_the_values(values: list[float], width: int) -> None:
    line = sparkline(values, width)
    assert len(line) == min(len(values), width)
    assert set(line) <= set(BLOCKS) | {NOT_A_NUMBER}


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30))
def test_a_higher_value_never_has_a_lower_block(values: list[float]) -> None:
    heights = [BLOCKS.index(block) for block in sparkline(values, len(values))]
    ordered = [height for _, height in sorted(zip(values, heights, strict=True))]
    assert ordered == sorted(ordered)
