"""KI2: words instead of squares, told apart as in newspapers."""

import random

import pytest
from rsshogi.core import Board
from rsshogi.core import Move as ForeignMove
from sample_games import FULL_HAND, MIDDLE_GAME

from keisei.errors import RecordError
from keisei.shogi import STANDARD_SFEN, Color, Reason, ShogiGame
from keisei.shogi.notation.game_record import RecordResult
from keisei.shogi.notation.ki2 import move_of, read_ki2

# Golds, silvers, dragons and horses that reach common squares, and a gold in hand.
CROWDED = "8k/9/9/9/+B+B1+R1+R3/9/3G1S3/3GG1S2/4K4 b G 1"

A_GAME = """\
先手：甲
後手：乙
*hello

▲７六歩    △３四歩　▲２二角成
*exchange
△同　銀 ▲５五角
まで5手で先手の勝ち
"""


@pytest.mark.parametrize(
    ("token", "usi"),
    (
        ("▲５七金直", "5h5g"),
        ("▲５七金寄", "6g5g"),
        ("▲５七金左上", "6h5g"),
        ("▲５七金打", "G*5g"),
        ("▲５五龍左", "6e5e"),
        ("▲５五竜右", "4e5e"),
        ("▲８四馬右", "8e8d"),
        ("▲８四馬左", "9e8d"),
        ("☗３七銀", "3h3g"),
        ("▼４五龍引", None),
        ("▲５七金", None),
        ("▲５七金右", None),
        ("▲５七金右打", None),
        ("▲５七金成", None),
        ("▲１一歩", None),
    ),
)
def test_words_that_tell_pieces_apart(token: str, usi: str | None) -> None:
    game = ShogiGame(CROWDED)
    if usi is None:
        with pytest.raises(RecordError, match=r"is ambiguous|no legal move fits"):
            move_of(token, game, None, "KI2")
    else:
        assert move_of(token, game, None, "KI2").usi == usi


@pytest.mark.parametrize("notation", ("rsshogi", "cshogi"))
@pytest.mark.parametrize("start", (STANDARD_SFEN, MIDDLE_GAME, FULL_HAND, CROWDED))
def test_every_legal_move_is_found_from_another_programs_notation(start: str, notation: str) -> None:
    rng = random.Random(3)
    game = ShogiGame(start)
    checked = 0
    while checked < 1_000 and game.outcome is None:
        words = {"rsshogi": _rsshogi_words, "cshogi": _cshogi_words}[notation](game)
        for usi, word in words.items():
            assert move_of(word, game, None, "KI2").usi == usi, (word, game.sfen)
        checked += len(words)
        game.make_move(rng.choice(game.legal_moves()))
    assert checked >= 100


def _rsshogi_words(game: ShogiGame) -> dict[str, str]:
    board, mark = Board(game.sfen), "▲△"[game.turn]
    return {
        move.usi: mark + ForeignMove.from_usi(move.usi).to_ki2(board).lstrip("▲△")
        for move in game.legal_moves()
    }


def _cshogi_words(game: ShogiGame) -> dict[str, str]:
    cshogi = pytest.importorskip("cshogi")
    ki2 = pytest.importorskip("cshogi.KI2")
    board = cshogi.Board(game.sfen)
    return {move.usi: ki2.move_to_ki2(board.move_from_usi(move.usi), board) for move in game.legal_moves()}


def test_a_whole_text() -> None:
    record = read_ki2(A_GAME)
    assert [move.usi for move in record.moves] == ["7g7f", "3c3d", "8h2b+", "3a2b", "B*5e"]
    assert (record.black, record.white) == ("甲", "乙")
    assert record.comments == {0: "hello", 3: "exchange"}
    assert record.result == RecordResult(Color.BLACK, Reason.RESIGNATION)


@pytest.mark.parametrize(
    ("text", "complaint"),
    (
        ("▲７六歩 ▲２六歩\n", "move 2 '▲２六歩' is not BLACK's to make"),
        ("▲７六歩 △同歩\n", "move 2 '△同歩' is illegal"),
        ("▲同歩\n", "the square of the move before, and there is none"),
        ("▲７六歩x\n", "expected a move such as"),
        ("▲７六歩\nnonsense\n", "line 2: expected moves"),
        ("▲７六歩\nまで1手で先手の勝ち\n△３四歩\n", "line 3: expected nothing more"),
        ("▲５五角打\n", "move 1 '▲５五角打' is illegal: no legal move fits"),
    ),
)
def test_errors_say_what_is_wrong_where(text: str, complaint: str) -> None:
    with pytest.raises(RecordError, match=complaint):
        read_ki2(text)
