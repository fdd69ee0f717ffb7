"""Tests of keisei.record.journal_schema: rows that cannot be, and what to do about an error."""

import math
import sqlite3
from pathlib import Path

import pytest

from keisei.errors import JournalError
from keisei.record.journal_schema import Evaluation, Game, PlayerRating, explained


def test_a_game_has_a_winner_that_can_be_counted() -> None:
    with pytest.raises(ValueError, match="'draw'"):
        Game("a", "b", "start", (), "draw", "repetition")


@pytest.mark.parametrize(("wins", "score"), [(8, 0.8), (7, math.nan)])
def test_a_match_result_adds_up(wins: int, score: float) -> None:
    with pytest.raises(ValueError, match="wins"):
        Evaluation("random", games=10, wins=wins, draws=2, losses=1, score=score, low=0.5, high=0.95)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (sqlite3.SQLITE_FULL, "free some disk space"),
        (sqlite3.SQLITE_IOERR_WRITE, "free some disk space"),
        (sqlite3.SQLITE_CORRUPT, "move it away"),
        (sqlite3.SQLITE_READONLY_DIRECTORY, "permissions"),
        (sqlite3.SQLITE_BUSY, "close that program"),
        (None, "not changed"),
    ],
)
def test_an_error_names_the_file_and_the_next_step(code: int | None, words: str) -> None:
    failure = sqlite3.OperationalError("it failed")
    if code is not None:
        failure.sqlite_errorcode = code
    with (
        pytest.raises(JournalError, match=rf"cannot read the journal a/b: it failed; .*{words}"),
        explained(Path("a/b"), "read"),
    ):
        raise failure


@pytest.mark.parametrize(("elo", "low", "high"), [(0, 1, 2), (3, 1, 2), (1, 2, 0), (0, math.nan, 1)])
def test_a_rating_lies_between_its_bounds(elo: float, low: float, high: float) -> None:
    with pytest.raises(ValueError, match="between its bounds"):
        PlayerRating("a", elo, low, high, games=2)
