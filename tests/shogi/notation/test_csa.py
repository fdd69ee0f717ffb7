"""CSA as servers write it."""

from pathlib import Path

import pytest
from sample_games import FULL_HAND, STARTS, random_game

from keisei.errors import RecordError
from keisei.shogi import HANDICAP_SFENS, STANDARD_SFEN, Color, Reason, ShogiGame
from keisei.shogi.notation.csa import CLOSING_WORDS, read_csa
from keisei.shogi.notation.game_record import OutsideReason, RecordResult
from keisei.shogi.records import write_record

A_GAME = """\
'CSA encoding=UTF-8
V2.2
N+Alpha, the first
N-Beta
$EVENT:a server, round 1
$START_TIME:2026/11/15 10:00:00
PI
+
'*before the start
+7776FU,T1
-3334FU
T12
+8822UM
'an ordinary remark
'*exchange
-3122GI
+0055KA
%TORYO
"""


def test_a_whole_file() -> None:
    record = read_csa(A_GAME)
    assert [move.usi for move in record.moves] == ["7g7f", "3c3d", "8h2b+", "3a2b", "B*5e"]
    assert (record.black, record.white) == ("Alpha, the first", "Beta")
    assert record.metadata == {"event": "a server, round 1", "start_date": "2026/11/15 10:00:00"}
    assert record.comments == {0: "before the start", 3: "exchange"}
    assert record.result == RecordResult(Color.BLACK, Reason.RESIGNATION)


@pytest.mark.parametrize(
    ("position", "sfen"),
    (
        ("+", STANDARD_SFEN),
        ("PI\n-", STANDARD_SFEN.replace(" b ", " w ")),
        ("PI82HI22KA\n-", HANDICAP_SFENS["two_piece"]),
        ("P-51OU\nP+59OU\nP+00AL\n+", FULL_HAND),
        ("P-51OU,P+59OU00FU00FU12TO,-", "4k4/8+P/9/9/9/9/9/9/4K4 w 2P 1"),
        (
            "P1 *  *  *  * -OU *  *  *  * \n"
            + "".join(f"P{rank} *  *  *  *  *  *  *  *  * \n" for rank in range(2, 9))
            + "P9 *  *  *  * +OU *  *  *  * \n+",
            "4k4/9/9/9/9/9/9/9/4K4 b - 1",
        ),
    ),
)
def test_start_positions(position: str, sfen: str) -> None:
    assert read_csa(f"V2.2\n{position}\n").start_sfen == sfen


@pytest.mark.parametrize(
    ("word", "result"),
    (
        ("TORYO", RecordResult(Color.BLACK, Reason.RESIGNATION)),
        ("TSUMI", RecordResult(Color.BLACK, Reason.CHECKMATE)),
        ("TIME_UP", RecordResult(Color.BLACK, OutsideReason.TIMEOUT)),
        ("ILLEGAL_MOVE", RecordResult(Color.BLACK, OutsideReason.ILLEGAL_MOVE)),
        ("+ILLEGAL_ACTION", RecordResult(Color.WHITE, OutsideReason.ILLEGAL_MOVE)),
        ("-ILLEGAL_ACTION", RecordResult(Color.BLACK, OutsideReason.ILLEGAL_MOVE)),
        ("KACHI", RecordResult(Color.WHITE, Reason.DECLARATION)),
        ("SENNICHITE", RecordResult(None, Reason.REPETITION)),
        ("JISHOGI", RecordResult(None, Reason.IMPASSE)),
        ("MAX_MOVES", RecordResult(None, Reason.MAX_PLIES)),
        ("HIKIWAKE", RecordResult(None, OutsideReason.AGREED_DRAW)),
        ("CHUDAN", None),
        ("FUZUMI", None),
        ("MATTA", None),
        ("ERROR", None),
    ),
)
def test_closing_words(word: str, result: RecordResult | None) -> None:
    assert word in CLOSING_WORDS
    assert read_csa(f"PI\n+\n+7776FU\n%{word}\n").result == result


@pytest.mark.parametrize(
    ("text", "complaint"),
    (
        ("PI\n+\n-3334FU\n", "line 3: move 1 '-3334FU' is not WHITE's to make"),
        ("PI\n+\n+7776TO\n", "move 1 .* is illegal"),
        ("PI\n+\n+7776KI\n", "it starts from FU"),
        ("PI\n+\n+5655FU\n", "it starts from no piece of the mover"),
        ("PI\n+\n+0055OU\n", "drops a piece that is never in hand"),
        ("PI\n+\n+0055FU\n", "move 1 '\\+0055FU' is illegal"),
        ("PI\n+\n+7776XX\n", "unknown piece 'XX'"),
        ("PI\n+\n%GIVE_UP\n", "unknown ending 'GIVE_UP'"),
        ("PI\n+\n+7776FU\n%TORYO\n-3334FU\n", "line 5: expected nothing more after the end"),
        ("PI\n+\n+7776FU\nhello\n", "line 4: expected a move"),
        ("PI\n+\n+7776FU\n/\nPI\n", "several games"),
        ("PI55FU\n+\n", "PI cannot remove 'FU'"),
        ("PI00AL\n+\n", "PI cannot remove 'AL'"),
        ("PIfoo\n+\n", "expected a square and a piece"),
        ("P1 * \n+\n", "nine cells of three characters"),
        ("P1" + "x* " * 9 + "\n+\n", r"expected '\+FU'"),
        ("PX\n+\n", "expected PI, P1 to P9"),
        ("P+00OU\n+\n", "'OU' can never be in hand"),
        ("P+59OU\n+\n", "start position is not possible"),
        ("nonsense\n", "line 1: expected a header"),
    ),
)
def test_errors_say_what_is_wrong_where(text: str, complaint: str) -> None:
    with pytest.raises(RecordError, match=complaint):
        read_csa(text)


@pytest.mark.parametrize("start", STARTS)
def test_other_programs_read_what_we_write(start: str) -> None:
    cshogi = pytest.importorskip("cshogi")
    csa = pytest.importorskip("cshogi.CSA")
    game = random_game(12, STARTS[start])
    (parsed,) = csa.Parser.parse_str(write_record(game, "csa"))
    assert [cshogi.move_to_usi(move) for move in parsed.moves] == [move.usi for move in game.moves]
    assert ShogiGame(parsed.sfen) == ShogiGame(game.start_sfen)


@pytest.mark.parametrize("start", STARTS)
def test_we_read_what_another_program_writes(tmp_path: Path, start: str) -> None:
    cshogi = pytest.importorskip("cshogi")
    csa = pytest.importorskip("cshogi.CSA")
    game, path = random_game(13, STARTS[start]), tmp_path / "game.csa"
    board = cshogi.Board(game.start_sfen)
    exporter = csa.Exporter(str(path))
    exporter.info(board, ["Alpha", "Beta"])
    for move in game.moves:
        foreign_move = board.move_from_usi(move.usi)
        exporter.move(foreign_move, time=1)
        board.push(foreign_move)
    exporter.endgame("%TORYO")
    exporter.close()
    record = read_csa(path.read_text(encoding="utf-8"))
    assert record.moves == tuple(game.moves)
    assert record.start_sfen.split()[:3] == game.start_sfen.split()[:3]
    assert (record.black, record.white) == ("Alpha", "Beta")
