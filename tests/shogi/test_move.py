"""Moves as values: reading, writing, order, and what is no move at all."""

import pytest

from keisei.errors import IllegalMoveError
from keisei.shogi import Move, PieceType

FILES, RANKS = "123456789", "abcdefghi"
SQUARES = [file + rank for rank in RANKS for file in reversed(FILES)]


def every_move() -> list[str]:
    """Everything that has the form of a USI move."""
    board = [a + b + sign for a in SQUARES for b in SQUARES if a != b for sign in ("", "+")]
    return board + [f"{piece}*{square}" for piece in "PLNSGBR" for square in SQUARES]


def test_every_usi_move_survives_the_round_trip_and_has_its_own_code() -> None:
    texts = every_move()
    moves = [Move.from_usi(usi) for usi in texts]
    assert [move.usi for move in moves] == texts
    assert len({int(move) for move in moves}) == len(set(moves)) == len(texts) == 81 * 80 * 2 + 81 * 7
    assert all(0 < move.code < 1 << 15 for move in moves)


def test_the_parts_of_a_board_move() -> None:
    move = Move.from_usi("8h2b+")
    assert (move.from_square, move.to_square) == (SQUARES.index("8h"), SQUARES.index("2b"))
    assert (move.promotes, move.is_drop, move.drop_type) == (True, False, None)
    assert not Move.from_usi("8h2b").promotes


@pytest.mark.parametrize(("letter", "piece"), list(zip("PLNSGBR", list(PieceType)[:7], strict=True)))
def test_the_parts_of_a_drop(letter: str, piece: PieceType) -> None:
    move = Move.from_usi(f"{letter}*5e")
    assert (move.is_drop, move.drop_type, move.from_square, move.to_square) == (True, piece, None, 40)
    assert not move.promotes


def test_moves_are_values() -> None:
    move = Move.from_usi("7g7f")
    assert str(move) == "7g7f"
    assert eval(repr(move)) == move
    assert move != Move.from_usi("7g7f+")
    assert sorted([move, Move.from_usi("P*5e")]) == [move, Move.from_usi("P*5e")]
    with pytest.raises(AttributeError):
        move.code = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    "usi",
    ["", "7g", "7g7", "7g7f++", "7g7f=", "7g7g", "0g7f", "7j7f", "7G7F", "p*5e", "K*5e", "P*5e+", "P*", "P5e",
     " 7g7f", "7g7f ", "7g7f\n", "7g\x007f", "７g７f", "resign", "7g7f8h2b"],
)  # fmt: skip
def test_what_is_no_usi_move_is_named(usi: str) -> None:
    with pytest.raises(IllegalMoveError) as error:
        Move.from_usi(usi)
    assert repr(usi) in str(error.value)
    assert "7g7f" in str(error.value), "the message shows a good example"


@pytest.mark.parametrize(
    "code", [-1, 0, 81, 40 << 7 | 40, 88 << 7, 81 << 7 | 1 << 14, 1 << 15, 1 << 16, 1 << 40]
)
def test_a_code_of_no_move_has_no_text(code: int) -> None:
    with pytest.raises((IllegalMoveError, TypeError)):
        _ = Move(code).usi
