import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_runs import match_result

from keisei.record.journal_reader import Entry
from keisei.web.strength_chart import elo, elo_words, last_of_each, strength_options

MATCHES = [
    Entry(1, 10, 0.0, match_result("random", 0.5)),
    Entry(2, 10, 1.0, match_result("ab1", 0.1)),
    Entry(3, 20, 3600.0, match_result("random", 0.9)),
]


@given(st.floats(0.001, 0.999))
def test_elo_is_the_inverse_of_the_expected_score(score: float) -> None:
    assert 1 / (1 + 10 ** (-elo(score) / 400)) == pytest.approx(score)


def test_a_clean_sweep_has_no_finite_rating() -> None:
    assert elo(1.0) == math.inf
    assert (elo_words(1.0), elo_words(0.0), elo_words(0.5)) == ("∞", "−∞", "+0")


def test_last_match_of_each_opponent() -> None:
    assert [entry.row for entry in last_of_each(MATCHES)] == [3, 2]


def test_each_opponent_has_a_line_and_bars_of_its_interval() -> None:
    options = strength_options(MATCHES, "updates", dark=None)
    scores, bars, *_ = options["series"]
    assert [line["name"] for line in options["series"]] == ["random", "random", "ab1", "ab1"]
    assert json.loads(scores[":data"]) == [[10, 0.5], [20, 0.9]]
    first = MATCHES[0].content
    assert json.loads(bars[":data"])[:3] == [[10, first.low], [10, first.high], [10, None]]


def test_hours_count_from_the_first_match() -> None:
    options = strength_options(MATCHES, "hours", dark=True)
    assert [place for place, _ in json.loads(options["series"][0][":data"])] == [0.0, 1.0]
