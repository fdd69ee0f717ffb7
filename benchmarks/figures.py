"""What the scripts of this folder share: figures with their spread, one table, lines for RESULTS.md."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from keisei.bench.table import Row, describe_commit, describe_machine

HEADER = ("| figure | of | median ± half spread | machine | commit |", "|---|---|---|---|---|")
COLUMNS = ("figure", "of", "median ± half spread", "min – max")


class Figures:
    """Values by figure and subject, in the order in which they were first noted."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], Row] = {}

    def note(self, figure: str, subject: str, unit: str, value: float) -> None:
        """One value more of a figure, shown as it comes."""
        self.add(figure, subject, unit, [value])
        print(f"{figure}: {subject}: {value:,.6g} {unit}", flush=True)

    def add(self, figure: str, subject: str, unit: str, values: Sequence[float]) -> None:
        """Values of a figure that were measured already."""
        if values:
            self._rows.setdefault((figure, subject), Row(figure, subject, unit)).values.extend(values)

    def lines(self) -> list[str]:
        """The table as aligned text."""
        cells = [COLUMNS]
        cells += [
            (row.figure, row.contestant, row.value_text(), row.range_text()) for row in self._rows.values()
        ]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        return [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in cells
        ]

    def finish(self, results: Path | None) -> None:
        """Prints the table, and appends it to a file as a block of its own, under the command that made it."""
        print("\n" + "\n".join(self.lines()))
        if results is None:
            return
        machine, commit = describe_machine(), describe_commit(Path.cwd())
        lines = [
            f"| {row.figure} | {row.contestant} | {row.value_text()} | {machine} | {commit} |"
            for row in self._rows.values()
        ]
        with results.open("a", encoding="utf-8") as file:
            file.write("\n".join(["", f"## `{_command()}`", "", *HEADER, *lines, ""]))


def _command() -> str:
    """What was typed, without the file that the figures go to."""
    words = [f"benchmarks/{Path(sys.argv[0]).name}", *sys.argv[1:]]
    if "--results" in words:
        place = words.index("--results")
        del words[place : place + 2]
    return shlex.join(words)
