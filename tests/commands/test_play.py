"""`keisei play`, piped."""

import io
import random
import re
import subprocess
from pathlib import Path

import pytest
from command_line import ENVIRONMENT, KEISEI, call_keisei
from small_checkpoints import make_run

from keisei.shogi import ShogiGame

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> io.BytesIO:
    """What stands on standard input."""
    raw = io.BytesIO()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(raw, encoding="utf-8"))
    return raw


def test_a_game_is_played_through_a_pipe(capsys: Capture, runs: Path, typed: io.BytesIO) -> None:
    make_run(runs, "mine")
    typed.write(b"7g7f\nhint\nundo\nsfen\nquit\n")
    typed.seek(0)
    called = call_keisei(capsys, "play", "mine", "--runs", runs, "--simulations", "4", "--style", "ascii")
    assert called.code == 0
    assert "Keisei after 1 updates and 100 plies of self-play." in called.out
    assert "Keisei plays " in called.out
    assert "Your winning chances: " in called.out
    assert "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1" in called.out


def test_the_end_of_input_and_bytes_that_are_no_text_end_well(
    capsys: Capture, runs: Path, typed: io.BytesIO
) -> None:
    make_run(runs, "mine")
    typed.write(b"\xff\xfe\n7g7f")
    typed.seek(0)
    called = call_keisei(capsys, "play", "mine", "--runs", runs, "--color", "white", "--simulations", "0")
    assert called.code == 0
    assert "not a USI move" in called.out
    assert called.out.endswith("Goodbye.\n")


def test_auto_is_the_run_trained_last(capsys: Capture, runs: Path, typed: io.BytesIO) -> None:
    called = call_keisei(capsys, "play", "auto", "--runs", runs)
    called.assert_refused(1, "no run to continue", "keisei train")
    make_run(runs, "mine")
    called = call_keisei(capsys, "play", "auto", "--runs", runs)
    assert called.code == 0
    assert "Keisei after 1 updates and 100 plies" in called.out


def test_a_network_that_is_not_there_is_answered_with_those_that_are(capsys: Capture, runs: Path) -> None:
    make_run(runs, "mine")
    called = call_keisei(capsys, "play", "nobody", "--runs", runs)
    called.assert_refused(1, "'nobody'", "shipped, mine")


def test_a_newcomer_plays_a_whole_game_without_any_argument(tmp_path: Path) -> None:
    """A real process in an empty folder: moves by lot until the game is over."""
    generator = random.Random(1)
    command = [KEISEI, "play", "--simulations", "1", "--style", "ascii"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=tmp_path, env=ENVIRONMENT, **pipes) as process:
        said = [process.stdout.readline(), process.stdout.readline()]
        plies = 0
        while (sfen := _next_position(process)) is not None:
            moves = ShogiGame(sfen).legal_moves()
            plies += 1
            process.stdin.write(f"{generator.choice(moves).usi}\n")
        process.stdin.write("quit\n")
        process.stdin.close()
        assert process.wait() == 0
    assert said[0].startswith("This network comes with Keisei")
    assert "plies of self-play" in said[1]
    assert plies > 1


def _next_position(process: "subprocess.Popen[str]") -> str | None:
    """The position in which the human is to move, None when the game is over."""
    process.stdin.write("sfen\n")
    process.stdin.flush()
    is_over = False
    for line in process.stdout:
        is_over = is_over or line.endswith("Type undo, new or quit.\n")
        if re.fullmatch(r"[\w/+]+ [bw] \S+ \d+\n", line):
            return None if is_over else line
    raise AssertionError("keisei play ended in the middle of a game")
