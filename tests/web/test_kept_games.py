from dataclasses import replace

import pytest
from recorded_runs import HOSTILE, random_game

from keisei.errors import KeiseiError
from keisei.record.journal_reader import Entry
from keisei.record.journal_schema import Game
from keisei.shogi import ShogiGame
from keisei.shogi.records import read_record
from keisei.web.kept_games import FORMATS, GameFilter, moves_html, position_at, record_text, result_words

MATED = next(game for seed in range(50) if (game := random_game(seed)).reason == "checkmate")


@pytest.mark.parametrize("format_name", FORMATS)
def test_records_read_back_as_the_same_game(format_name: str) -> None:
    again = read_record(record_text(MATED, format_name), format_name)
    assert tuple(move.usi for move in again.moves) == MATED.moves


@pytest.mark.parametrize("reason", ["impasse", "unheard_of", "max_plies", "declaration"])
@pytest.mark.parametrize("format_name", FORMATS)
def test_any_ending_can_be_written(format_name: str, reason: str) -> None:
    game = replace(random_game(1, max_plies=30), winner=None, reason=reason)
    assert read_record(record_text(game, format_name), format_name).moves


def test_damaged_game_cannot_be_written() -> None:
    with pytest.raises(KeiseiError):
        record_text(replace(MATED, moves=("7g7f", "7g7f")), "kif")


def test_position_follows_the_moves() -> None:
    board = ShogiGame()
    for ply, usi in enumerate(MATED.moves[:20]):
        assert position_at(MATED, ply) == board
        board.play(usi)
    assert position_at(MATED, 10_000).outcome is not None


def test_damaged_game_is_shown_as_far_as_it_goes() -> None:
    assert position_at(replace(MATED, moves=("7g7f", HOSTILE, "8c8d")), 3).ply == 1
    assert position_at(replace(MATED, start_sfen=HOSTILE), 0) == ShogiGame()


def test_move_list_carries_no_html_of_others() -> None:
    html = moves_html(replace(MATED, moves=(HOSTILE,)), 0)
    assert "<img" not in html
    assert "<script" not in html
    assert "&lt;img" in html


def test_result_in_words() -> None:
    assert result_words(replace(MATED, winner="white")) == "White wins, checkmate"
    assert result_words(replace(MATED, winner=None, reason="max_plies")) == "draw, max plies"


GAMES = [
    Entry(row, row, 0.0, Game(black, white, "", ("x",) * plies, winner, reason))
    for row, (black, white, plies, winner, reason) in enumerate(
        [
            ("keisei", "ab1", 40, "black", "checkmate"),
            ("ab1", "keisei", 80, "black", "checkmate"),
            ("keisei", "keisei", 120, None, "max_plies"),
            ("keisei", "keisei", 90, "white", "resignation"),
        ]
    )
]


@pytest.mark.parametrize(
    ("wanted", "rows"),
    [
        (GameFilter(), [0, 1, 2, 3]),
        (GameFilter(result="draw"), [2]),
        (GameFilter(result="black", player="AB1"), [0, 1]),
        (GameFilter(reason="resignation"), [3]),
        (GameFilter(least_plies=80, most_plies=100), [1, 3]),
        (GameFilter(player="nobody"), []),
    ],
)
def test_filter(wanted: GameFilter, rows: list[int]) -> None:
    assert [entry.row for entry in wanted.select(GAMES)] == rows
