"""A game in the terminal, line by line."""

from collections.abc import Sequence

import pytest
from stand_in_networks import MaterialNetwork, inference

from keisei.commands.terminal_game import TerminalGame
from keisei.shogi import Color, Move, ShogiGame

MIND = inference(MaterialNetwork())
MATE_IN_ONE = "4k4/9/4P4/9/9/9/9/9/4K4 b G 1"
DECLARABLE = "KGGSS+N+N+L+L/+P+P+P+P5/9/9/9/9/9/9/8k b 2R2B2g2s2n2l14p 100"


def told(*lines: str, human: Color = Color.BLACK, sfen: str | None = None, simulations: int = 8) -> list[str]:
    """Everything the terminal shows for these lines of input."""
    said: list[str] = []
    game = TerminalGame(MIND, said.append, human=human, simulations=simulations, sfen=sfen, style="ascii")
    game.play(lines)
    return said


def positions(said: Sequence[str]) -> list[str]:
    """What `sfen` answered."""
    return [line for line in said if line.count("/") == 8 and " illegal " not in f" {line}"]


def test_a_move_is_answered_by_a_legal_one() -> None:
    said = told("7g7f", "sfen")
    (answer,) = (line for line in said if line.startswith("Keisei plays"))
    game = ShogiGame()
    game.play("7g7f")
    move = Move.from_usi(answer.split()[2].rstrip("."))
    assert move in game.legal_moves()
    game.play(move)
    assert positions(said) == [game.sfen]
    assert "Its winning chances: " in answer
    assert said[-2] == str(game)


def test_white_lets_keisei_begin() -> None:
    said = told("sfen", human=Color.WHITE)
    assert said[0].startswith("You are white")
    assert said[1].startswith("Keisei plays ")
    assert positions(said)[0].split()[1] == "w"


def test_moves_may_be_typed_in_any_case() -> None:
    assert any(line.startswith("Keisei plays") for line in told("7G7F"))
    assert any("You win by checkmate" in line for line in told("g*5b", sfen=MATE_IN_ONE))


@pytest.mark.parametrize("line", ["7g7e", "P*5e", "e4", "7g7f+", "\ufffd", "x" * 1_000])
def test_what_cannot_be_played_is_explained_and_changes_nothing(line: str) -> None:
    said = told(line, "sfen")
    assert positions(said) == [ShogiGame().sfen]
    assert "Type moves for the legal moves" in said[-2]


def test_legal_moves_are_listed_by_square_and_by_piece_in_hand() -> None:
    assert len(told("moves")[-1].split()) == 30
    assert told("moves 2h")[-1].split() == ["2h1h", "2h3h", "2h4h", "2h5h", "2h6h", "2h7h"]
    assert all(move.startswith("G*") for move in told("moves g", sfen=MATE_IN_ONE)[-1].split())
    assert told("moves 5e")[-1] == "no legal move of '5e'"


def test_a_hint_names_a_legal_move_and_the_chances() -> None:
    assert told("hint", sfen=MATE_IN_ONE)[-1] == "Keisei would play G*5b (G*5b). Your move mates."
    hint = told("hint")[-1]
    assert Move.from_usi(hint.split()[3]) in ShogiGame().legal_moves()
    assert "Your winning chances: 5" in hint


def test_a_hint_warns_of_a_mate_against_the_human() -> None:
    assert "Your king is mated in 2 plies" in told("hint", sfen="8k/9/9/9/9/9/1r7/r8/8K b - 1")[-1]


def test_undo_goes_back_to_the_humans_last_choice() -> None:
    said = told("7g7f", "2g2f", "undo", "undo", "sfen", "undo")
    assert positions(said) == [ShogiGame().sfen]
    assert said[-1] == "there is nothing to take back"
    white = told("undo", "sfen", human=Color.WHITE)
    assert "there is nothing to take back" in white
    assert positions(white)[0].split()[1] == "w"


def test_undo_takes_back_the_end_of_the_game_too() -> None:
    said = told("G*5b", "undo", "sfen", "G*5b", sfen=MATE_IN_ONE)
    assert positions(said) == [ShogiGame(MATE_IN_ONE).sfen]
    assert said[-1] == "You win by checkmate. Type undo, new or quit."


@pytest.mark.parametrize("line", ["7g7f", "hint", "resign"])
def test_after_the_end_nothing_is_played(line: str) -> None:
    said = told("resign", line, "sfen")
    assert said.count("Keisei wins by resignation. Type undo, new or quit.") == 2
    assert positions(said) == [ShogiGame().sfen]


def test_a_new_game_begins_where_the_first_did() -> None:
    said = told("G*5b", "new", "sfen", sfen=MATE_IN_ONE)
    assert positions(said) == [ShogiGame(MATE_IN_ONE).sfen]


def test_a_win_can_be_declared_where_the_rules_allow_it() -> None:
    assert told("declare", sfen=DECLARABLE)[-1] == "You win by declaration. Type undo, new or quit."
    assert "may not declare" in told("declare")[-1]


def test_keisei_declares_too() -> None:
    flipped = "8K/9/9/9/9/9/9/5+p+p+p+p/+l+l+n+nssggk b 2r2b2G2S2N2L14P 100"
    assert "Keisei declares a win." in told("1a2a", sfen=flipped)


def test_check_is_called() -> None:
    assert "Check!" in told("board", sfen="4k4/9/9/9/9/9/4r4/9/4K4 b - 1")


def test_help_names_every_command_and_quit_ends() -> None:
    (text,) = (line for line in told("help", "", "   ", "quit", "sfen") if line.startswith("a move"))
    for word in ("moves", "hint", "undo", "board", "sfen", "declare", "resign", "new", "quit"):
        assert f"\n{word}" in text
    assert positions(told("QUIT", "sfen")) == []
