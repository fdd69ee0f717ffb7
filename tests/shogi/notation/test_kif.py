"""KIF as people and other programs write it."""

from pathlib import Path

import pytest
from rsshogi.initial_positions import HANDICAP_TO_SFEN
from sample_games import STARTS, random_game

from keisei.errors import RecordError
from keisei.shogi import Color, Reason, ShogiGame
from keisei.shogi.notation.game_record import OutsideReason, RecordResult
from keisei.shogi.notation.japanese import CLOSING_WORDS
from keisei.shogi.notation.kif import read_kif
from keisei.shogi.notation.starts import KIF_STARTS
from keisei.shogi.records import write_record

A_GAME = """\
# ---- a file of some program ----
開始日時：2026/11/15 10:00:00
棋戦：friendly game
手合割：平手\u3000\u3000
先手：甲
後手：乙
手数----指手---------消費時間--
*both sides greet
   1 ７六歩(77)   ( 0:01/00:00:01)
&opening
   2 ３四歩(33)   ( 0:02/00:00:02)+
   3 ２二角成(88) ( 0:01/00:00:02)
*an exchange
**engine 42
   4 同　銀(31)   ( 0:01/00:00:03)
   5 ５五角打     ( 0:01/00:00:03)
   6 投了         ( 0:09/00:00:12)
まで5手で先手の勝ち

変化：2手
   2 ８四歩(83)
"""

BARE_DIAGRAM = """\
上手の持駒：金四　銀三　桂三　香三　歩十八\u3000
  ９ ８ ７ ６ ５ ４ ３ ２ １
+---------------------------+
| ・ ・ ・ ・ ・ ・ ・v桂v香|一
| ・ ・ ・ ・ ・ ・v銀v玉 ・|二
| ・ ・ ・ ・ ・ ・ ・ ・ ・|三
| ・ ・ ・ ・ ・ ・ ・ ・ ・|四
| ・ ・ ・ ・ ・ ・ ・ ・ ・|五
| ・ ・ ・ ・ ・ ・ ・ ・ ・|六
| ・ ・ ・ ・ ・ ・ ・ ・ ・|七
| ・ ・ ・ ・ ・ ・ ・ ・ ・|八
| ・ ・ ・ ・ 玉 ・ ・ ・ ・|九
+---------------------------+
下手の持駒：飛二　角２
"""


def test_a_whole_file() -> None:
    record = read_kif(A_GAME)
    assert [move.usi for move in record.moves] == ["7g7f", "3c3d", "8h2b+", "3a2b", "B*5e"]
    assert (record.black, record.white) == ("甲", "乙")
    assert record.metadata == {"start_date": "2026/11/15 10:00:00", "event": "friendly game"}
    assert record.comments == {0: "both sides greet", 3: "an exchange\n*engine 42"}
    assert record.result == RecordResult(Color.BLACK, Reason.RESIGNATION)


@pytest.mark.parametrize(
    ("turn_line", "turn"), (("", "b"), ("下手番\n", "b"), ("上手番\n", "w"), ("後手番\n", "w"))
)
def test_a_position_from_a_diagram(turn_line: str, turn: str) -> None:
    record = read_kif(BARE_DIAGRAM + turn_line)
    assert record.start_sfen == f"7nl/6sk1/9/9/9/9/9/9/4K4 {turn} 2R2B4g3s3n3l18p 1"


def test_start_names_agree_with_an_independent_list() -> None:
    assert dict(KIF_STARTS) == HANDICAP_TO_SFEN


@pytest.mark.parametrize(
    ("word", "winner", "reason"),
    (
        ("投了", Color.BLACK, Reason.RESIGNATION),
        ("詰み", Color.BLACK, Reason.CHECKMATE),
        ("切れ負け", Color.BLACK, OutsideReason.TIMEOUT),
        ("反則勝ち", Color.WHITE, OutsideReason.ILLEGAL_MOVE),
        ("反則負け", Color.BLACK, OutsideReason.ILLEGAL_MOVE),
        ("入玉勝ち", Color.WHITE, Reason.DECLARATION),
        ("不戦勝", Color.WHITE, OutsideReason.FORFEIT),
        ("不戦敗", Color.BLACK, OutsideReason.FORFEIT),
        ("千日手", None, Reason.REPETITION),
        ("持将棋", None, Reason.IMPASSE),
        ("最大手数", None, Reason.MAX_PLIES),
    ),
)
def test_closing_words(word: str, winner: Color | None, reason: Reason | OutsideReason) -> None:
    assert read_kif(f"1 ７六歩(77)\n2 {word}\n").result == RecordResult(winner, reason)


@pytest.mark.parametrize("word", [word for word, ending in CLOSING_WORDS.items() if ending is None])
def test_words_that_leave_the_game_open(word: str) -> None:
    assert read_kif(f"1 ７六歩(77)\n2 {word}\n").result is None


@pytest.mark.parametrize(
    ("sentence", "result"),
    (
        ("まで1手で先手の勝ち", RecordResult(Color.BLACK, Reason.RESIGNATION)),
        ("まで1手で後手の勝ち", RecordResult(Color.WHITE, Reason.RESIGNATION)),
        ("まで1手で時間切れにより先手の勝ち", RecordResult(Color.BLACK, OutsideReason.TIMEOUT)),
        ("まで1手で千日手", RecordResult(None, Reason.REPETITION)),
        ("まで1手で中断", None),
    ),
)
def test_closing_sentences_stand_in_for_a_missing_word(sentence: str, result: RecordResult | None) -> None:
    assert read_kif(f"1 ７六歩(77)\n{sentence}\n").result == result


@pytest.mark.parametrize(
    ("text", "complaint"),
    (
        ("1 ７六歩(77)\n3 ３四歩(33)\n", "line 2: expected move number 2, found 3"),
        ("1 ７六歩\n", "lacks the square it comes from"),
        ("1 ７六金(77)\n", "歩 stands on 77, not 金"),
        ("1 ７六歩(33)\n", "no piece of the mover stands on 33"),
        ("1 同歩(77)\n", "the square of the move before, and there is none"),
        ("1 ５五玉打\n", "drops a piece that is never in hand"),
        ("1 ５五角打\n", "move 1 '５五角打' is illegal"),
        ("1 ７六歩(77)\n2 投了\n3 ３四歩(33)\n", "line 3: expected nothing more after the end"),
        ("1 ７六歩(77)\nsomething\n", "line 2: expected a numbered move"),
        ("1 ７六歩(77)x\n", "expected a move such as"),
        ("手合割：七枚落ち\n", "unknown start '七枚落ち'"),
        ("garbage\n", "line 1: expected a header"),
        ("| ・ ・|一\n", "expected 9 rows between bars in the diagram, found 1"),
        (BARE_DIAGRAM.replace("v玉", "v王王"), "nine cells of two characters"),
        (BARE_DIAGRAM.replace("v玉", "v犬"), "unknown piece '犬'"),
        (BARE_DIAGRAM.replace("v玉", " ・"), "start position is not possible"),
        (BARE_DIAGRAM.replace("歩十八", "歩十九"), "start position is not possible"),
        (BARE_DIAGRAM.replace("歩十八", "歩百"), "expected a hand such as"),
        (BARE_DIAGRAM.replace("歩十八", "歩" + "9" * 5_000), "expected a hand such as"),
        (BARE_DIAGRAM.replace("歩十八", "歩十十"), "expected a hand such as"),
        (BARE_DIAGRAM.replace("歩十八", "玉"), "expected a hand such as"),
        ("まで1手で先手の負け\n", "unknown ending '負け'"),
    ),
)
def test_errors_say_what_is_wrong_where(text: str, complaint: str) -> None:
    with pytest.raises(RecordError, match=complaint):
        read_kif(text)


@pytest.mark.parametrize("start", STARTS)
def test_other_programs_read_what_we_write(start: str) -> None:
    kif = pytest.importorskip("shogi.KIF")
    game = random_game(11, STARTS[start])
    (parsed,) = kif.Parser.parse_str(write_record(game, "kif"))
    assert parsed["moves"] == [move.usi for move in game.moves]
    # That parser takes the side to move at the end of the game for the one at its start.
    board, _, hands, _ = parsed["sfen"].split()
    assert ShogiGame(f"{board} {game.start_sfen.split()[1]} {hands} 1") == ShogiGame(game.start_sfen)


def test_we_read_what_another_program_writes(tmp_path: Path) -> None:
    cshogi = pytest.importorskip("cshogi")
    kif = pytest.importorskip("cshogi.KIF")
    for seed in range(5):
        game, path = random_game(seed), tmp_path / f"{seed}.kif"
        board = cshogi.Board()
        exporter = kif.Exporter(str(path))
        exporter.header(["甲", "乙"])
        for move in game.moves:
            foreign_move = board.move_from_usi(move.usi)
            exporter.move(foreign_move)
            board.push(foreign_move)
        exporter.end("resign")
        exporter.close()
        record = read_kif(path.read_bytes().decode("cp932"))
        assert record.moves == tuple(game.moves)
        assert (record.black, record.white) == ("甲", "乙")
