"""`keisei usi` is the engine."""

import sys
from pathlib import Path

from small_checkpoints import save_checkpoint
from usi_client import UsiClient


def test_the_command_speaks_usi(tmp_path: Path) -> None:
    model = save_checkpoint(tmp_path)
    program = "from keisei.cli import main; main()"
    with UsiClient([sys.executable, "-c", program, "usi", str(model)]) as client:
        client.ask("usi", answer="usiok")
        assert f"option name Model type filename default {model}" in client.transcript
        client.ask("isready", answer="readyok")
        assert client.ask("position startpos", "go nodes 5", answer="bestmove").count(" ") >= 1
        client.send("quit")
        assert client.wait() == 0
