import pytest
from recorded_runs import HOSTILE, random_game, thoughts_on

from keisei.record.journal_schema import Game, Thought
from keisei.shogi import Color, ShogiGame
from keisei.shogi.board_svg import Arrow
from keisei.web.films import KeptFilm, arrow, frame_picture
from keisei.web.frames import Frame, black_share
from keisei.web.run_library import RunLibrary
from keisei.web.visit import Visit

GAME = random_game(1)
THOUGHTS = [thought for _, thought in thoughts_on(GAME, 1)]


@pytest.fixture
def visit(tmp_path) -> Visit:  # type: ignore[no-untyped-def]
    return Visit(RunLibrary(tmp_path), None, "light", "kanji")


def test_blacks_share_does_not_depend_on_who_moves() -> None:
    assert black_share(Thought(0.5), Color.BLACK) == 0.75
    assert black_share(Thought(-0.5), Color.WHITE) == 0.75


def test_a_kept_game_has_a_frame_for_every_position() -> None:
    film = KeptFilm(GAME, THOUGHTS)
    assert film.last == len(GAME.moves)
    assert film.frame(0).thought == THOUGHTS[0]
    assert film.frame(film.last).thought is None
    assert "keisei" in film.caption(0)


def test_arrows_are_as_wide_as_moves_are_likely() -> None:
    assert arrow("7g7f", 0.25) == Arrow(56, 47, 0.25, "25%", None)
    assert arrow("P*5e", 0.5).origin is None


def test_the_picture_shows_likely_moves_only_and_each_with_its_share(visit: Visit) -> None:
    thought = Thought(0.1, (("7g7f", 0.6), ("2g2f", 0.3), ("9i9h", 0.001)))
    svg = frame_picture(Frame(ShogiGame(), thought), visit, ("", ""), with_arrows=True)
    assert "60%" in svg
    assert "30%" in svg
    assert svg.count('class="shaft"') == 2
    assert 'class="shaft"' not in frame_picture(
        Frame(ShogiGame(), thought), visit, ("", ""), with_arrows=False
    )


def test_hostile_moves_and_names_do_not_become_markup(visit: Visit) -> None:
    thought = Thought(0.1, ((HOSTILE, 0.9), ("5a5b", 0.9)))
    svg = frame_picture(Frame(ShogiGame(), thought), visit, (HOSTILE, HOSTILE), with_arrows=True)
    assert "<script" not in svg
    assert "<img" not in svg
    assert 'class="shaft"' not in svg  # neither is a legal move


def test_a_game_that_cannot_be_replayed_is_shown_as_far_as_it_can() -> None:
    film = KeptFilm(Game("a", "b", ShogiGame().sfen, ("7g7f", HOSTILE, "3c3d"), None, "max_plies"))
    assert [move.usi for move in film.frame(3).position.moves] == ["7g7f"]
