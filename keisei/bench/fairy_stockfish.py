"""Fairy-Stockfish's own perft, asked for over its text protocol."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping

from keisei.bench.measurement import Budget, Measurement, Work, Workload, measure_for
from keisei.errors import RivalError
from keisei.record.machine import find_program

PROGRAM = "fairy-stockfish"
NODES = re.compile(r"Nodes searched:\s*(\d+)")


class FairyStockfish:
    """Fairy-Stockfish, a separate process; counts inside C++, so no binding is in the way."""

    name = "Fairy-Stockfish"

    def available(self) -> str | None:
        return None if find_program(PROGRAM) is not None else f"apt-get install {PROGRAM}"

    def workloads(self) -> Mapping[Workload, Work]:
        return {Workload.PERFT: self.perft}

    def perft(self, budget: Budget) -> Measurement:
        with subprocess.Popen(
            [find_program(PROGRAM) or PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        ) as engine:
            _tell(engine, "uci", "setoption name UCI_Variant value shogi", "position startpos", "isready")
            _read_until(engine, re.compile("readyok"))  # tables are set up before the clock starts
            measurement = measure_for(budget.seconds, lambda: _count(engine, budget.perft_depth))
            _tell(engine, "quit")
        return measurement


def _count(engine: subprocess.Popen[str], depth: int) -> int:
    _tell(engine, f"go perft {depth}")
    return int(_read_until(engine, NODES).group(1))


def _tell(engine: subprocess.Popen[str], *commands: str) -> None:
    assert engine.stdin is not None
    engine.stdin.writelines(f"{command}\n" for command in commands)
    engine.stdin.flush()


def _read_until(engine: subprocess.Popen[str], pattern: re.Pattern[str]) -> re.Match[str]:
    assert engine.stdout is not None
    for line in engine.stdout:
        if match := pattern.search(line):
            return match
    raise RivalError(
        f"expected {PROGRAM} to print {pattern.pattern!r}, but it ended;"
        f" run `{PROGRAM}` by hand and see what it says"
    )
