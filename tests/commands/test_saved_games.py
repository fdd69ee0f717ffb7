"""Games of matches as files: every way a game can end can be written in every format."""

from pathlib import Path

import pytest

from keisei.commands.saved_games import GameSaver
from keisei.errors import RecordError
from keisei.evaluation.arena import MatchResult, PlayedGame
from keisei.shogi import Color, Reason, ShogiGame, read_record
from keisei.shogi.notation.game_record import OutsideReason

DRAWS = (Reason.REPETITION, Reason.IMPASSE, Reason.MAX_PLIES)
LOSSES_OF_THE_MOVER = (Reason.RESIGNATION, *OutsideReason)


def game_after_two_plies() -> ShogiGame:
    game = ShogiGame()
    game.play("7g7f")
    game.play("3c3d")
    return game


@pytest.mark.parametrize("suffix", ["kif", "csa", "usi"])
@pytest.mark.parametrize(
    "reason", [*DRAWS, *LOSSES_OF_THE_MOVER, Reason.DECLARATION, Reason.CHECKMATE, Reason.PERPETUAL_CHECK]
)
def test_every_ending_can_be_written(tmp_path: Path, suffix: str, reason: Reason | OutsideReason) -> None:
    winner = None if reason in DRAWS or reason is OutsideReason.AGREED_DRAW else Color.WHITE
    if reason is Reason.DECLARATION:
        winner = Color.BLACK
    game = PlayedGame(game_after_two_plies(), 4, Color.WHITE, winner, reason, "so it was")
    GameSaver(tmp_path, suffix, MatchResult("first", "second")).save([game])
    record = read_record(tmp_path / f"0005-white.{suffix}")
    assert [move.usi for move in record.moves] == ["7g7f", "3c3d"]
    if suffix != "usi":
        assert (record.black, record.white) == ("second", "first")
        assert record.comments[2] == f"{reason.value}: so it was"
        assert record.result is not None or (suffix, reason) == ("csa", OutsideReason.FORFEIT)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(RecordError, match=r"cannot save games in .*file"):
        GameSaver(tmp_path / "file" / "games", "kif", MatchResult("a", "b"))


def test_the_games_of_another_match_are_not_overwritten(tmp_path: Path) -> None:
    game = PlayedGame(game_after_two_plies(), 0, Color.BLACK, Color.WHITE, Reason.RESIGNATION)
    GameSaver(tmp_path, "kif", MatchResult("a", "b")).save([game])
    before = (tmp_path / "0001-black.kif").read_text(encoding="utf-8")
    with pytest.raises(RecordError, match=r"games of another match.*0001-black\.kif.*--save"):
        GameSaver(tmp_path, "kif", MatchResult("c", "d"))
    GameSaver(tmp_path, "csa", MatchResult("c", "d"))  # no file in the way
    assert (tmp_path / "0001-black.kif").read_text(encoding="utf-8") == before
