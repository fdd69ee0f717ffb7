"""Positions as GUIs send them, also past what we hold for the end."""

import pytest

from keisei.errors import IllegalMoveError, SfenError
from keisei.shogi import HANDICAP_SFENS, STANDARD_SFEN, Color, Reason
from keisei.usi.game_setup import PLIES_AHEAD, set_up
from keisei.usi.protocol import Position

SHUFFLE = ("5i5h", "5a5b", "5h5i", "5b5a")


def test_moves_are_played_with_their_history() -> None:
    game = set_up(Position(STANDARD_SFEN, SHUFFLE))
    assert [move.usi for move in game.moves] == list(SHUFFLE)
    assert game.occurrences == 2


def test_handicap_games_begin_with_white() -> None:
    assert set_up(Position(HANDICAP_SFENS["two_piece"], ())).turn is Color.WHITE


def test_a_gui_may_go_on_after_the_fourth_repetition() -> None:
    game = set_up(Position(STANDARD_SFEN, SHUFFLE * 4))
    assert game.outcome is None
    assert game.ply == 16


def test_there_is_always_room_ahead_unless_the_gui_draws_the_line() -> None:
    late = STANDARD_SFEN.removesuffix("1") + "700"
    assert set_up(Position(late, ("7g7f",))).max_plies >= 700 + PLIES_AHEAD
    drawn = set_up(Position(STANDARD_SFEN, SHUFFLE[:2]), draw_ply=2)
    assert drawn.outcome is not None
    assert drawn.outcome.reason is Reason.MAX_PLIES
    assert set_up(Position(STANDARD_SFEN, SHUFFLE), draw_ply=2).ply == 4


@pytest.mark.parametrize(
    ("sfen", "moves", "error"),
    [
        ("nonsense b - 1", (), SfenError),
        (STANDARD_SFEN, ("7g7e",), IllegalMoveError),
        (STANDARD_SFEN, ("7g7f", "xyzzy"), IllegalMoveError),
        ("4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1", ("5a4b",), IllegalMoveError),
    ],
)
def test_what_cannot_be_played_is_an_error(sfen: str, moves: tuple[str, ...], error: type[Exception]) -> None:
    with pytest.raises(error):
        set_up(Position(sfen, moves))
