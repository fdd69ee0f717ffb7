"""Which games a report shows."""

from recorded_runs import HOSTILE, random_game

from keisei.commands.report_games import chosen_games, game_html
from keisei.record.journal_reader import Entry
from keisei.record.journal_schema import Game

GAMES = [random_game(seed) for seed in range(8)]


def entry(row: int, update: int, game: Game) -> Entry[Game]:
    return Entry(row=row, update=update, time=0.0, content=game)


def game(plies: int, winner: str | None = "black") -> Game:
    return Game("a", "b", "startpos", ("7g7f",) * plies, winner, "checkmate")


def test_decided_games_of_the_last_quarter_come_first() -> None:
    lengths = [300, 90, 50, 120, 70]
    entries = [entry(row, 20 * row, game(plies)) for row, plies in enumerate(lengths)]
    entries.append(entry(9, 100, game(400, winner=None)))
    chosen = {title.split()[1]: each.row for title, each in chosen_games(entries).items()}
    assert chosen == {"hardest": 3, "quickest": 4, "of": 0}, (
        "the newest is the quickest, and stands there already"
    )


def test_without_a_decision_any_game_will_do() -> None:
    entries = [entry(row, row, game(10 * row + 1, winner=None)) for row in range(3)]
    assert {each.row for each in chosen_games(entries).values()} == {0, 2}


def test_no_games_no_choice() -> None:
    assert chosen_games([]) == {}


def test_a_game_has_boards_on_the_way_to_its_end_and_all_its_moves() -> None:
    html = game_html("The newest", entry(1, 7, GAMES[0]))
    assert html.count("<svg") == 3
    assert "final position" in html
    assert "update 7" in html
    for ply, usi in enumerate(GAMES[0].moves, 1):
        assert f"{ply}.&#160;{usi}" in html


def test_a_damaged_game_and_hostile_names_are_shown_as_text() -> None:
    bad = Game(HOSTILE, HOSTILE, HOSTILE, (HOSTILE, "7g7f"), None, HOSTILE)
    html = game_html(HOSTILE, entry(1, 1, bad))
    assert "<img" not in html
    assert "<script" not in html
    assert "&lt;img" in html


def test_a_game_without_moves_is_one_board() -> None:
    assert game_html("t", entry(1, 1, game(0))).count("<svg") == 1
