"""`keisei bench`: claims of speed, measured beside the rivals in the same run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number
from rich.console import Console


def engine(
    *,
    repetitions: Annotated[
        int,
        Parameter(help="How often everything is measured; medians are shown.", validator=Number(gte=1)),
    ] = 5,
    results: Annotated[
        Path | None, Parameter(help="File to append the figures to, such as benchmarks/RESULTS.md.")
    ] = None,
) -> None:
    """Measure perft, random play and observations beside every installed rival; print medians, spread and ratios."""
    from keisei.bench.engine import Plan, run
    from keisei.bench.table import RESULTS_HEADER, describe_commit, describe_machine

    console = Console(highlight=False, markup=False, soft_wrap=True)
    progress = Console(stderr=True, highlight=False, markup=False)
    table = run(Plan(repetitions=repetitions), progress=progress.print)
    for line in table.lines():
        console.print(line)
    if results is None:
        return
    lines = table.results_lines(describe_machine(), describe_commit(Path.cwd()))
    header = [] if results.exists() else list(RESULTS_HEADER)
    with results.open("a", encoding="utf-8") as file:
        file.write("\n".join([*header, *lines]) + "\n")
    console.print(f"written to {results}")
