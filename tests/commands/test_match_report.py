"""Reports of matches: complete, in order, and honest about what they do not know."""

import math

import pytest

from keisei.commands.match_report import match_lines, rating_table
from keisei.evaluation.arena import MatchResult, PlayedGame
from keisei.evaluation.ratings import Rating
from keisei.evaluation.sprt import Sprt
from keisei.shogi import Color, Reason, ShogiGame
from keisei.shogi.notation.game_record import OutsideReason


def played(pair: int, color: Color, winner: Color | None, note: str = "") -> PlayedGame:
    reason = OutsideReason.TIMEOUT if note else Reason.CHECKMATE
    return PlayedGame(ShogiGame(), pair, color, winner, reason, note)


def result(pairs: int, **changes: bool) -> MatchResult:
    """The first player wins with Black and draws with White."""
    match = MatchResult("a", "b", **changes)
    for pair in range(pairs):
        match.games += [played(pair, Color.BLACK, Color.BLACK), played(pair, Color.WHITE, None)]
    return match


def test_a_match_without_games_says_so() -> None:
    assert match_lines(MatchResult("a", "b"), Sprt(0, 10)) == ["a against b: no game was finished"]


def test_score_colours_ends_and_elo_come_in_this_order() -> None:
    lines = match_lines(result(20), None)
    assert lines[0].startswith("a against b: 75.0%")
    assert lines[1].startswith("  as black: 100.0%")
    assert lines[2].startswith("  as white: 50.0%")
    assert lines[3] == "  ended by checkmate 40"
    assert lines[4].startswith("Elo difference +191 [")
    assert len(lines) == 5


@pytest.mark.parametrize("pairs", [0, 2])
def test_a_few_pairs_have_no_elo(pairs: int) -> None:
    match = result(pairs)
    match.games.append(played(pairs, Color.BLACK, Color.BLACK))
    assert (
        match_lines(match, None)[-1] == f"Too few pairs of games for an Elo difference: {pairs} of at least 3"
    )
    assert match_lines(result(3), None)[-1].startswith("Elo difference +191 [")


def test_a_broken_off_match_warns_unless_a_test_broke_it_off() -> None:
    assert "quick games" in match_lines(result(3, stopped=True), None)[-1]
    lines = match_lines(result(30, stopped=True), Sprt(0, 50))
    assert lines[-1].startswith("Sequential test of +50 against +0 Elo: stronger after 30 pairs (ratio +")


def test_the_same_complaint_is_not_repeated_for_ever() -> None:
    match = MatchResult("a", "b")
    match.games += [played(pair, Color.BLACK, Color.WHITE, f"late {pair}") for pair in range(9)]
    lines = match_lines(match, None)
    assert [line for line in lines if "late" in line] == ["  late 0", "  late 1", "  late 2"]
    assert lines[-1] == "  … and 6 more such games"


def test_ratings_without_a_bound_show_the_one_they_have() -> None:
    ratings = [
        Rating("strong", math.inf, 512.0, math.inf, 20),
        Rating("known", 100.4, 50.6, 160.2, 40),
        Rating("new", math.nan, -math.inf, math.inf, 0),
    ]
    columns = [list(column.cells) for column in rating_table(ratings, ["known"]).columns]
    assert columns == [
        ["strong", "known", "new"],
        ["above +512", "+100", "unknown"],
        ["", "[+51, +160]", ""],
        ["20", "40", "0"],
    ]
