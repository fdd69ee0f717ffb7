import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_runs import HOSTILE, match_result

from keisei.record.journal_reader import Entry, MetricPoint
from keisei.record.journal_schema import Exam, PlayerRating
from keisei.record.strength import RatedUpdate
from keisei.web.curves import Axis
from keisei.web.strength_chart import (
    cross_table,
    elo,
    elo_words,
    exam_rows,
    last_of_each,
    match_score,
    places,
    rating_options,
    score_options,
)

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
    options = score_options(MATCHES, {10: 10, 20: 20}, "updates", dark=None)
    scores, bars, *_ = options["series"]
    assert [line["name"] for line in options["series"]] == ["random", "random", "ab1", "ab1"]
    assert json.loads(scores[":data"]) == [[10, 0.5], [20, 0.9]]
    first = MATCHES[0].content
    assert json.loads(bars[":data"])[:3] == [[10, first.low], [10, first.high], [10, None]]
    assert options["xAxis"]["min"] == 0  # a single measurement needs an axis too


@pytest.mark.parametrize(
    ("axis", "expected"), [("updates", [1, 2]), ("plies", [50, 100]), ("hours", [0.0, 0.5])]
)
def test_updates_have_a_place_on_every_axis(axis: Axis, expected: list[float]) -> None:
    points = [MetricPoint(1, 50, 1000.0, 1.0), MetricPoint(2, 100, 2800.0, 1.0)]
    assert list(places(points, axis).values()) == expected


RATED = [
    RatedUpdate(10, PlayerRating("policy:a", 100.0, 60.0, 140.0, 50)),
    RatedUpdate(20, PlayerRating("policy:b", math.inf, 400.0, math.inf, 50)),
    RatedUpdate(30, PlayerRating("policy:c", math.nan, -math.inf, math.inf, 0)),
]


def test_ratings_have_bars_and_those_without_bounds_stand_where_they_are_known_to_be() -> None:
    line, bars = rating_options(RATED, {10: 1, 20: 2, 30: 3}, "updates", dark=True)["series"]
    assert json.loads(line[":data"]) == [[1, 100.0], [2, 400.0]]
    assert json.loads(bars[":data"]) == [[1, 60.0], [1, 140.0], [1, None], [2, 400.0], [2, 400.0], [2, None]]


def test_cross_table_has_the_newest_first_and_every_opponent() -> None:
    opponents, rows = cross_table(MATCHES, RATED[:1])
    assert opponents == ["random", "ab1"]
    assert [row["update"] for row in rows] == [20, 10]
    assert rows[0] == {"update": 20, "rating": "–", "random": "90.0% (90/0/10)"}
    assert rows[1]["rating"] == "+100 Elo [+60, +140]"
    assert rows[1]["ab1"] == "10.0% (10/0/90)"


def test_exams_are_told_by_length() -> None:
    entries = [
        Entry(1, 5, 0.0, Exam(1, 100, 92)),
        Entry(2, 5, 0.0, Exam(3, 0, 0)),
        Entry(3, 9, 0.0, Exam(1, 50, 50)),
    ]
    assert exam_rows(entries) == [
        {"update": 9, "mate 1": "100.0% of 50"},
        {"update": 5, "mate 1": "92.0% of 100", "mate 3": "–"},
    ]


def test_a_match_in_play_is_told_with_its_games_and_its_score() -> None:
    match = {"opponent": "greedy", "planned": 400, "wins": 80, "draws": 11, "losses": 29}
    assert match_score(match) == "120 of 400 games against greedy: 71.2% so far (80 won, 11 drawn, 29 lost)"


@pytest.mark.parametrize(
    "match",
    [None, HOSTILE, {}, {"wins": 0, "draws": 0, "losses": 0, "planned": 4}, {"wins": HOSTILE, "planned": 4}],
)
def test_a_match_of_which_nothing_is_known_has_no_words(match: object) -> None:
    assert match_score(match) == ""
