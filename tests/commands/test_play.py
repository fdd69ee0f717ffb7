"""`keisei play`, piped."""

import io
from pathlib import Path

import pytest
from command_line import call_keisei
from small_checkpoints import make_run

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
    called = call_keisei(capsys, "play", "--runs", runs, "--color", "white", "--simulations", "0")
    assert called.code == 0
    assert "not a USI move" in called.out
    assert called.out.endswith("Goodbye.\n")


def test_without_a_network_there_is_no_game(capsys: Capture, runs: Path) -> None:
    called = call_keisei(capsys, "play", "--runs", runs)
    assert called.code == 1
    assert "keisei train" in called.err
