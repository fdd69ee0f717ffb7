"""What a benchmark run found, as rows with medians, spreads and ratios."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from keisei.record.machine import processor
from keisei.record.machine_limits import available_cores

BASELINES = ("cshogi", "rsshogi")
PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


@dataclass
class Row:
    """One figure of one contestant; values in the order of the repetitions."""

    figure: str
    contestant: str
    unit: str
    values: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return median(self.values)

    @property
    def low(self) -> float:
        return min(self.values)

    @property
    def high(self) -> float:
        return max(self.values)

    def value_text(self) -> str:
        """The median, plus or minus half the distance between the extremes where there are several values."""
        scale, prefix = self._scale()
        spread = f" ± {_digits((self.high - self.low) / 2 / scale)}" if len(self.values) > 1 else ""
        return f"{_digits(self.median / scale)}{spread} {prefix}{self.unit}".rstrip()

    def range_text(self) -> str:
        scale, prefix = self._scale()
        return f"{_digits(self.low / scale)} – {_digits(self.high / scale)} {prefix}".rstrip()

    def _scale(self) -> tuple[float, str]:
        return next(((scale, prefix) for scale, prefix in PREFIXES if self.median >= scale), (1.0, ""))


@dataclass
class Table:
    """All rows of one run, and who could not be measured and why."""

    rows: list[Row] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)
    #: Contestants that the others are compared with.
    baselines: tuple[str, ...] = BASELINES

    def row(self, figure: str, contestant: str) -> Row | None:
        return next((row for row in self.rows if (row.figure, row.contestant) == (figure, contestant)), None)

    def ratio(self, row: Row, baseline: str) -> float | None:
        """How many times faster than the baseline: the median over repetitions, which ran side by side."""
        other = self.row(row.figure, baseline)
        if other is None or other is row or not row.values or not other.values:
            return None
        return median(ours / theirs for ours, theirs in zip(row.values, other.values, strict=False))

    def lines(self) -> list[str]:
        """The table as aligned text."""
        cells = [
            ("figure", "of", "median ± half spread", "min – max", *(f"× {name}" for name in self.baselines))
        ]
        cells += [self._cells(row) for row in self.rows]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        text = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in cells
        ]
        return text + [f"not measured: {name}: {why}" for name, why in self.absent.items()]

    def _cells(self, row: Row) -> tuple[str, ...]:
        return (row.figure, row.contestant, row.value_text(), row.range_text(), *self._ratio_texts(row))

    def _ratio_texts(self, row: Row) -> tuple[str, ...]:
        ratios = (self.ratio(row, baseline) for baseline in self.baselines)
        return tuple("" if ratio is None else _digits(ratio) for ratio in ratios)

    def results_lines(self, machine: str, commit: str) -> list[str]:
        """Rows of a Markdown table; `results_header` fits them."""
        cells = (
            (row.figure, row.contestant, row.value_text(), *self._ratio_texts(row), machine, commit)
            for row in self.rows
        )
        return [f"| {' | '.join(line)} |" for line in cells]

    def results_header(self) -> list[str]:
        ratios = (f"× {name}" for name in self.baselines)
        names = ("figure", "of", "median ± half spread", *ratios, "machine", "commit")
        return [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}"]


def _digits(value: float) -> str:
    """Three significant digits, never in exponent form."""
    return f"{value:.0f}" if value >= 100 else f"{float(f'{value:.3g}'):.5f}".rstrip("0").rstrip(".")


def describe_machine() -> str:
    """The processor and the number of cores this process may use."""
    return f"{processor()}, {available_cores()} cores"


def describe_commit(directory: Path) -> str:
    """The commit of the working tree, or "unknown" outside of one."""
    try:
        described = subprocess.run(
            ["git", "describe", "--always", "--dirty"],
            cwd=directory,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return described.stdout.strip()
