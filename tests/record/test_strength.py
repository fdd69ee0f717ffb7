"""The strongest network of a run: by its lower bound, raw policies only, the newest rating of each update."""

import math

import pytest

from keisei.record.journal_reader import Entry
from keisei.record.journal_schema import PlayerRating
from keisei.record.strength import RatedUpdate, rated_updates, strongest


def rated(update: int, elo: float, half_width: float = 50.0) -> RatedUpdate:
    return RatedUpdate(
        update, PlayerRating(f"policy:run@{update}", elo, elo - half_width, elo + half_width, 100)
    )


def test_the_highest_lower_bound_is_the_strongest_not_the_highest_estimate() -> None:
    unsure, sure = rated(10, elo=500, half_width=300), rated(20, elo=400, half_width=50)
    assert strongest([unsure, sure]) == sure


def test_of_equals_the_earliest_is_the_strongest() -> None:
    assert strongest([rated(30, 100), rated(20, 100)]) == rated(20, 100)


def test_nobody_is_the_strongest_where_nothing_bounds_anybody_from_below() -> None:
    hopeless = RatedUpdate(1, PlayerRating("policy:run@1", -math.inf, -math.inf, -300.0, 10))
    assert strongest([hopeless]) is None
    assert strongest([]) is None


def test_who_won_everything_is_judged_by_the_lower_bound() -> None:
    perfect = RatedUpdate(5, PlayerRating("policy:run@5", math.inf, 900.0, math.inf, 10))
    assert strongest([rated(4, 900), perfect]) == perfect


def test_only_raw_policies_count_and_the_newest_rating_of_each() -> None:
    def entry(row: int, update: int, player: str, elo: float) -> Entry[PlayerRating]:
        return Entry(row, update, 0.0, PlayerRating(player, elo, elo - 10, elo + 10, 2))

    found = rated_updates(
        [
            entry(1, 20, "policy:run@20#ab", 200.0),
            entry(2, 10, "policy:run@10#cd", 100.0),
            entry(3, 10, "search:run@10#cd?simulations=64", 900.0),
            entry(4, 10, "policy:run@10#cd?temperature=1", 800.0),
            entry(5, 10, "policy:run@10#cd", 150.0),
        ]
    )
    assert [(each.update, each.rating.elo) for each in found] == [(10, 150.0), (20, 200.0)]


@pytest.mark.parametrize(
    ("elo", "low", "high", "words"),
    [
        (512.4, 430.0, 600.0, "+512 Elo [+430, +600] after update 7"),
        (math.inf, 430.0, math.inf, "above +430 Elo after update 7"),
        (-math.inf, -math.inf, -20.0, "below -20 Elo after update 7"),
        (math.nan, -math.inf, math.inf, "unknown rating after update 7"),
    ],
)
def test_ratings_in_words(elo: float, low: float, high: float, words: str) -> None:
    assert str(RatedUpdate(7, PlayerRating("policy:run@7", elo, low, high, 10))) == words
