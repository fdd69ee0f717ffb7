from typing import Any

import pytest
from recorded_runs import HOSTILE

from keisei.record.journal_reader import Entry
from keisei.record.journal_schema import Game
from keisei.web.game_list import MAX_ROWS_OF_A_PAGE, GameList, Leaf
from keisei.web.kept_games import GameFilter


def entry(row: int, winner: str | None = "black", plies: int = 10, reason: str = "checkmate") -> Entry[Game]:
    return Entry(row, row // 4, 0.0, Game("keisei", "ab1", "", ("7g7f",) * plies, winner, reason))


def rows(games: GameList, leaf: Leaf) -> list[int]:
    return [each.row for each in games.leaf(leaf)]


def test_the_newest_come_first_and_pages_follow_each_other() -> None:
    games = GameList(GameFilter())
    games.look([entry(row) for row in range(1, 26)])
    assert rows(games, Leaf()) == list(range(25, 15, -1))
    assert rows(games, Leaf(page=3)) == [5, 4, 3, 2, 1]
    assert rows(games, Leaf(page=4)) == []


def test_a_column_sorts_all_games_and_not_only_a_page() -> None:
    games = GameList(GameFilter())
    games.look([entry(1, plies=30), entry(2, plies=10), entry(3, plies=20)])
    assert rows(games, Leaf(rows=2, sort_by="plies")) == [2, 3]
    assert rows(games, Leaf(rows=2, sort_by="plies", descending=True)) == [1, 3]


def test_new_games_are_counted_and_old_ones_that_left_are_not() -> None:
    kept = [entry(1), entry(2, None, reason="max_plies"), entry(3, "white")]
    games = GameList(GameFilter())
    games.look(kept)
    assert games.summary() == "3 games · black 1, draw 1, white 1 · checkmate 2, max plies 1"
    kept.append(entry(4, "white"))
    del kept[:2]
    games.look(kept)
    games.look(kept)
    assert games.summary() == "2 games · white 2 · checkmate 2"
    assert rows(games, Leaf()) == [4, 3]


def test_only_games_that_pass_the_filter_are_listed() -> None:
    kept = [entry(1), entry(2, "white")]
    games = GameList(GameFilter(result="white"))
    games.look(kept)
    kept += [entry(3), entry(4, "white")]
    games.look(kept)
    assert rows(games, Leaf()) == [4, 2]
    nobody = GameList(GameFilter(player="nobody"))
    nobody.look(kept)
    assert (len(nobody), nobody.summary()) == (0, "No kept game passes this filter.")


def test_a_run_that_went_back_is_another_list() -> None:
    games = GameList(GameFilter())
    games.look([entry(1), entry(2), entry(3)])
    games.look([entry(1), entry(2, "white")])
    assert games.summary() == "2 games · black 1, white 1 · checkmate 2"
    games.look([])
    assert len(games) == 0


@pytest.mark.parametrize(
    ("wish", "leaf"),
    [
        ({"page": 2, "rowsPerPage": 5, "sortBy": "plies", "descending": True}, Leaf(2, 5, "plies", True)),
        ({"page": 1, "rowsPerPage": 0, "sortBy": None, "descending": False}, Leaf(1, MAX_ROWS_OF_A_PAGE)),
        ({"page": -1, "rowsPerPage": 10**9, "sortBy": HOSTILE}, Leaf(1, MAX_ROWS_OF_A_PAGE)),
        ({"page": HOSTILE, "rowsPerPage": None, "sortBy": [7]}, Leaf(1, MAX_ROWS_OF_A_PAGE)),
        (HOSTILE, Leaf()),
        (None, Leaf()),
    ],
)
def test_a_browser_can_only_ask_for_what_there_is(wish: Any, leaf: Leaf) -> None:
    assert Leaf.of(wish) == leaf


def test_the_table_in_the_browser_knows_how_many_there_are() -> None:
    assert Leaf(2, 5, "plies", True).as_quasar(12) == {
        "page": 2,
        "rowsPerPage": 5,
        "sortBy": "plies",
        "descending": True,
        "rowsNumber": 12,
    }
