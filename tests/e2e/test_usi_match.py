"""The engine in the hands of a program that is not ours: cshogi's match runner, against Fairy-Stockfish."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from small_checkpoints import save_checkpoint

FAIRY_STOCKFISH = Path("/usr/games/fairy-stockfish")
#: What the runner says of a game that an engine forfeited: an illegal move, or the clock.
FORFEITS = ("反則負け", "切れ負け")
PATIENCE_SECONDS = 240


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    """One executable without arguments, as GUIs want it."""
    model = save_checkpoint(tmp_path / "checkpoints")
    wrapper = tmp_path / "keisei-usi"
    program = "from keisei.usi.main import main; main()"
    wrapper.write_text(f"#!/bin/sh\nexec {shlex.join([sys.executable, '-c', program, str(model)])}\n")
    wrapper.chmod(0o755)
    return wrapper


def play_match(first: Path, second: Path, *options: str) -> str:
    pytest.importorskip("cshogi", reason="install cshogi: pip install 'keisei[test]'")
    finished = subprocess.run(
        [sys.executable, "-m", "cshogi.cli", str(first), str(second), "--byoyomi", "100", *options],
        capture_output=True,
        check=False,
        timeout=PATIENCE_SECONDS,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    assert finished.returncode == 0, finished.stderr.decode(errors="replace")
    return finished.stdout.decode()


def test_games_against_fairy_stockfish_are_played_by_the_rules_and_the_clock(engine: Path) -> None:
    if not FAIRY_STOCKFISH.exists():
        pytest.skip("install Fairy-Stockfish: apt-get install fairy-stockfish")
    told = play_match(engine, FAIRY_STOCKFISH, "--games", "2", "--draw", "40")
    assert "2 of 2 games finished." in told
    assert not any(forfeit in told for forfeit in FORFEITS), told


def test_a_pondering_match_ends(engine: Path) -> None:
    told = play_match(engine, engine, "--games", "2", "--draw", "10", "--ponder")
    assert "2 of 2 games finished." in told
    assert told.count("まで10手で持将棋") == 2, told
