"""Schedules: their ends, their shapes, and what they refuse."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisei.config_schema import TrainingConfig
from keisei.core.schedules import KINDS, scheduled
from keisei.errors import ConfigError

MOVING = [kind for kind in KINDS if kind != "constant"]
positive = st.floats(1e-6, 1.0)


@pytest.mark.parametrize("kind", MOVING)
@given(start=positive, end=positive)
def test_begins_and_ends_where_it_is_told(kind: str, start: float, end: float) -> None:
    assert scheduled(kind, start, end, 0.0, steps=4) == pytest.approx(start)
    assert scheduled(kind, start, end, 1.0, steps=4) == pytest.approx(end)


@pytest.mark.parametrize("kind", MOVING)
@given(start=positive, end=positive, one=st.floats(0, 1), other=st.floats(0, 1))
def test_never_turns_back(kind: str, start: float, end: float, one: float, other: float) -> None:
    earlier, later = (scheduled(kind, start, end, progress, steps=5) for progress in sorted((one, other)))
    slack = 1e-12
    assert earlier <= later + slack if start <= end else earlier >= later - slack


@pytest.mark.parametrize("kind", KINDS)
def test_stays_put_outside_of_training(kind: str) -> None:
    assert scheduled(kind, 1.0, 0.1, -0.5, steps=4) == scheduled(kind, 1.0, 0.1, 0.0, steps=4)
    assert scheduled(kind, 1.0, 0.1, 1.5, steps=4) == scheduled(kind, 1.0, 0.1, 1.0, steps=4)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("constant", [8.0, 8.0, 8.0, 8.0]),
        ("linear", [8.0, 6.5, 5.0, 3.5]),
        ("cosine", [8.0, 5 + 3 * 2**-0.5, 5.0, 5 - 3 * 2**-0.5]),
        ("exponential", [8.0, 8 / 2**0.5, 4.0, 4 / 2**0.5]),
        ("step", [8.0, 6.0, 4.0, 2.0]),
    ],
)
def test_values_at_each_quarter(kind: str, expected: list[float]) -> None:
    values = [scheduled(kind, 8.0, 2.0, quarter / 4, steps=4) for quarter in range(4)]
    assert values == pytest.approx(expected)


def test_a_step_schedule_has_as_many_plateaus_as_asked() -> None:
    values = [scheduled("step", 1.0, 0.0, index / 1000, steps=7) for index in range(1001)]
    assert len(set(values)) == 7
    assert [values.count(value) for value in sorted(set(values), reverse=True)] == pytest.approx(
        [143] * 7, abs=1
    )


@pytest.mark.parametrize("ends", [(0.0, 1.0), (1.0, 0.0)])
def test_an_exponential_schedule_cannot_touch_zero(ends: tuple[float, float]) -> None:
    with pytest.raises(ConfigError, match="needs both ends above 0"):
        scheduled("exponential", *ends, 0.5, steps=4)


def test_an_unknown_kind_names_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"unknown schedule 'cosin'.*cosine"):
        scheduled("cosin", 1.0, 0.1, 0.5, steps=4)


def test_every_kind_of_the_configuration_is_computed() -> None:
    choices = TrainingConfig.model_json_schema()["properties"]["learning_rate_schedule"]["enum"]
    assert sorted(choices) == sorted(KINDS)
