"""The USI engine by the clock: from its start to `usiok`, from `stop` to `bestmove`, and how it keeps its time.

A checkpoint or a run must be given; its size matters little, since no answer waits for the network.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from figures import Figures

PROGRAM = "from keisei.usi.main import main; main()"
MIDDLE_GAME = "position startpos moves 7g7f 3c3d 2g2f 8c8d 2f2e 8d8e 6i7h 4a3b 2e2d 2c2d 2h2d P*2c 2d2h"
#: The delay that the engine keeps back by default is part of what it may use.
BYOYOMI_MILLISECONDS = (150, 300, 1000)
MILLISECONDS = 1000


class Client:
    """An engine process; every answer is waited for."""

    def __init__(self, checkpoint: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, checkpoint],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def ask(self, *lines: str, answer: str) -> float:
        """Sends lines; returns the seconds until a line with the answer came."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        begun = time.perf_counter()
        self._process.stdin.write("".join(f"{line}\n" for line in lines))
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith(answer):
                return time.perf_counter() - begun
        raise RuntimeError(f"the engine ended before it said {answer!r}")

    def quit(self) -> None:
        self._process.communicate("quit\n")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkpoint", help="a checkpoint folder or a run")
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--stops", type=int, default=50)
    parser.add_argument("--results", type=Path, default=None, help="file to append the figures to")
    options = parser.parse_args(arguments)
    figures = Figures()
    for _ in range(options.starts):
        begun = time.perf_counter()
        client = Client(options.checkpoint)
        client.ask("usi", answer="usiok")
        figures.note("usi: from the start to usiok", "keisei-usi", "s", time.perf_counter() - begun)
        client.quit()
    client = Client(options.checkpoint)
    client.ask("usi", answer="usiok")
    figures.note("usi: isready to readyok", "keisei-usi", "s", client.ask("isready", answer="readyok"))
    stops = []
    for _ in range(options.stops):
        client.ask(MIDDLE_GAME, "go infinite", answer="info")
        stops.append(MILLISECONDS * client.ask("stop", answer="bestmove"))
    figures.add("usi: stop to bestmove", f"{options.stops} times", "ms", stops)
    for byoyomi in BYOYOMI_MILLISECONDS:
        go = f"go btime 0 wtime 0 byoyomi {byoyomi}"
        used = [MILLISECONDS * client.ask(MIDDLE_GAME, go, answer="bestmove") for _ in range(options.starts)]
        figures.add("usi: time used", f"byoyomi {byoyomi} ms", "ms", used)
    client.quit()
    figures.finish(options.results)


if __name__ == "__main__":
    main()
