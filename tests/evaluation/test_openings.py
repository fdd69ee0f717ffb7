"""Openings: varied, legal, even, and the same for the same seed."""

from pathlib import Path

import pytest

from keisei.errors import OpeningError
from keisei.evaluation.openings import (
    BALANCE_DEPTH,
    BALANCE_LIMIT,
    OPENING_PLIES,
    random_openings,
    read_openings,
)
from keisei.shogi import HANDICAP_SFENS, STANDARD_SFEN, Color, ShogiGame
from keisei.shogi.search import search_games


def test_openings_are_reached_by_legal_plies_from_the_standard_position() -> None:
    for sfen in random_openings(50, seed=1):
        game = ShogiGame(sfen)
        assert game.ply == OPENING_PLIES
        assert game.turn is Color.BLACK
        assert game.outcome is None
        assert game.legal_moves()


def test_the_seed_decides_and_openings_differ() -> None:
    assert random_openings(20, seed=3) == random_openings(20, seed=3)
    assert random_openings(20, seed=3) != random_openings(20, seed=4)
    assert len(set(random_openings(100, seed=3))) > 95


def test_a_longer_list_begins_with_the_shorter_one() -> None:
    assert random_openings(30, seed=5)[:10] == random_openings(10, seed=5)


def test_the_number_of_plies_can_be_chosen() -> None:
    assert random_openings(2, seed=1, plies=0) == [ShogiGame().sfen] * 2
    assert {ShogiGame(sfen).ply for sfen in random_openings(5, seed=1, plies=9)} == {9}


def test_neither_side_is_ahead_after_an_opening() -> None:
    games = [ShogiGame(sfen) for sfen in random_openings(60, seed=8, plies=12)]
    assert max(abs(found.score) for found in search_games(games, BALANCE_DEPTH)) <= BALANCE_LIMIT


def test_a_file_holds_positions_in_every_usual_form(tmp_path: Path) -> None:
    path = tmp_path / "openings.txt"
    handicap = HANDICAP_SFENS["lance"]
    path.write_text(
        f"# my openings\n\nstartpos\nposition startpos moves 7g7f 3c3d\n{handicap}\n"
        f"sfen {handicap}  # lance\nposition sfen {handicap} moves 3c3d\n"
    )
    played = ShogiGame()
    played.play("7g7f")
    played.play("3c3d")
    given = ShogiGame(handicap)
    given.play("3c3d")
    assert read_openings(path) == [STANDARD_SFEN, played.sfen, handicap, handicap, given.sfen]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("startpos moves 7g7f 7g7f", "move 2: .*illegal"),
        ("startpos moves 7g7f e4", "move 2: .*'e4'"),
        ("lnsgkgsnl/9/ppppppppp b - 1", "expected an SFEN"),
        ("hello", "expected an SFEN"),
        ("sfen 4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1", "the game is over there"),
        ("4k4/9/4P4/9/9/9/9/9/4K4 b G 1 moves G*5b 5a4a", "follows the end"),
    ],
)
def test_an_illegal_line_is_named_with_its_number(tmp_path: Path, line: str, complaint: str) -> None:
    path = tmp_path / "openings.txt"
    path.write_text(f"startpos\n# fine so far\n{line}\nstartpos\n")
    with pytest.raises(OpeningError, match=rf"openings\.txt, line 3: .*{complaint}|line 3: {complaint}"):
        read_openings(path)


@pytest.mark.parametrize("content", [None, b"", b"# nothing\n\n", b"\xff\xfe\x00"])
def test_a_file_without_openings_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "openings.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(OpeningError, match=r"openings\.txt"):
        read_openings(path)
