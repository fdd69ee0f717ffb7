"""Never over the clock, and never without using it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisei.shogi import Color
from keisei.usi.clock import LEAST_SECONDS, thinking_seconds
from keisei.usi.protocol import GoLimits

TIMES = st.none() | st.integers(0, 36_000_000)


def seconds(color: Color = Color.BLACK, delay: int = 100, **limits: int) -> float | None:
    return thinking_seconds(GoLimits(**limits), color, delay)  # type: ignore[arg-type]


def test_without_a_clock_there_is_no_limit() -> None:
    assert seconds() is None
    assert seconds(nodes=100, depth=3) is None


def test_byoyomi_is_used_less_the_delay() -> None:
    assert seconds(byoyomi=1_000) == pytest.approx(0.9)
    assert seconds(btime=0, wtime=0, byoyomi=1_000) == pytest.approx(0.9)
    assert seconds(movetime=2_000) == pytest.approx(1.9)


def test_of_a_time_like_the_delay_half_is_used() -> None:
    assert seconds(byoyomi=100) == pytest.approx(0.05)
    assert seconds(byoyomi=150) == pytest.approx(0.075)


def test_each_side_looks_at_its_own_clock() -> None:
    clocks = {"btime": 400_000, "wtime": 40_000, "binc": 0, "winc": 1_000}
    assert seconds(Color.BLACK, **clocks) == pytest.approx(10)
    assert seconds(Color.WHITE, **clocks) == pytest.approx(1.9)


def test_main_time_is_spread_and_byoyomi_comes_on_top() -> None:
    assert seconds(btime=600_000, byoyomi=10_000) == pytest.approx(25)


def test_an_empty_clock_allows_one_look() -> None:
    assert seconds(btime=0, wtime=0) == LEAST_SECONDS
    assert seconds(movetime=0) == LEAST_SECONDS


@given(TIMES, TIMES, TIMES, TIMES, TIMES, st.integers(0, 5_000), st.sampled_from(Color))
def test_the_time_is_never_overdrawn(
    btime: int | None,
    wtime: int | None,
    byoyomi: int | None,
    binc: int | None,
    winc: int | None,
    delay: int,
    color: Color,
) -> None:
    limits = GoLimits(btime=btime, wtime=wtime, byoyomi=byoyomi, binc=binc, winc=winc)
    used = thinking_seconds(limits, color, delay)
    mine = (btime or 0, binc or 0) if color is Color.BLACK else (wtime or 0, winc or 0)
    available = (sum(mine) + (byoyomi or 0)) / 1000
    if used is None:
        assert (btime, wtime, byoyomi, binc, winc) == (None,) * 5
    elif used > LEAST_SECONDS:
        assert used <= max(available - delay / 1000, available / 2) + 1e-9
