"""Lines from GUIs, as they are really sent, and garbage."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisei.shogi import STANDARD_SFEN
from keisei.usi.protocol import (
    GameOver,
    Go,
    GoLimits,
    GoMate,
    IsReady,
    NewGame,
    PonderHit,
    Position,
    Quit,
    SetOption,
    Stop,
    Usi,
    parse,
)


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("usi", Usi()),
        ("isready\r\n", IsReady()),
        ("\t usinewgame  ", NewGame()),
        ("stop", Stop()),
        ("quit", Quit()),
        ("gameover", GameOver()),
        ("gameover lose", GameOver()),
        ("ponderhit", PonderHit(GoLimits())),
        ("ponderhit btime 1 wtime 2 byoyomi 3", PonderHit(GoLimits(btime=1, wtime=2, byoyomi=3))),
        ("setoption name USI_Ponder value true", SetOption("USI_Ponder", "true")),
        ("setoption name Model value /a  b/c d", SetOption("Model", "/a  b/c d")),
        ("setoption name Skill Level value 5", SetOption("Skill Level", "5")),
        ("setoption name Clear_Hash", SetOption("Clear_Hash", None)),
        ("setoption name Model value", SetOption("Model", None)),
        ("position startpos", Position(STANDARD_SFEN, ())),
        ("position startpos moves", Position(STANDARD_SFEN, ())),
        ("position startpos moves 7g7f 3c3d", Position(STANDARD_SFEN, ("7g7f", "3c3d"))),
        ("position sfen 4k4/9/9 w 2P 7 moves a", Position("4k4/9/9 w 2P 7", ("a",))),
        ("position sfen 4k4/9/9 b - moves", Position("4k4/9/9 b - 1", ())),
        ("go", Go(GoLimits())),
        ("go infinite", Go(GoLimits(infinite=True))),
        ("go byoyomi 100", Go(GoLimits(byoyomi=100))),
        ("go btime 0 wtime 0 byoyomi 1000", Go(GoLimits(btime=0, wtime=0, byoyomi=1000))),
        ("go btime 5 wtime 6 binc 7 winc 8", Go(GoLimits(btime=5, wtime=6, binc=7, winc=8))),
        ("go ponder byoyomi 100", Go(GoLimits(ponder=True, byoyomi=100))),
        ("go nodes 10 depth 3 movetime 50", Go(GoLimits(nodes=10, depth=3, movetime=50))),
        ("go searchmoves 7g7f 2g2f nodes 5", Go(GoLimits(nodes=5, searchmoves=("7g7f", "2g2f")))),
        ("go btime -50 wtime 10", Go(GoLimits(btime=0, wtime=10))),
        ("go mate infinite", GoMate(None)),
        ("go mate 5000", GoMate(5000)),
        ("go mate", GoMate(None)),
    ],
)
def test_commands_are_understood(line: str, command: object) -> None:
    assert parse(line) == command


@pytest.mark.parametrize(
    "line",
    [
        "",
        "   ",
        "hello",
        "USI",
        "setoption",
        "setoption Model",
        "position",
        "position fen x",
        "position sfen",
        "debug on",
    ],
)
def test_what_is_no_command_is_none(line: str) -> None:
    assert parse(line) is None


@pytest.mark.parametrize("value", ["", "abc", "1.5", "９", "1" * 16, "0x10"])
def test_a_limit_that_is_no_number_is_no_limit(value: str) -> None:
    assert parse(f"go nodes {value}") == Go(GoLimits())
    assert parse(f"go nodes {value} depth 4") == Go(GoLimits(depth=4))


WORDS = st.sampled_from(
    ["go", "position", "setoption", "name", "value", "sfen", "startpos", "moves", "mate", "ponder", "btime",
     "searchmoves", "-1", "9" * 30, "7g7f", "ponderhit", "\x00", "é", "infinite"]
)  # fmt: skip


@given(st.one_of(st.text(), st.lists(WORDS).map(" ".join)))
def test_no_line_is_an_error(line: str) -> None:
    parse(line)
