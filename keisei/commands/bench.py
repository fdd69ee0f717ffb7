"""`keisei bench`: claims of speed, measured beside the rivals in the same run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number
from rich.console import Console

if TYPE_CHECKING:
    from keisei.bench.table import Table

GPU_RECIPE = Path("configs/gpu.yaml")

Results = Annotated[
    Path | None, Parameter(help="File to append the figures to, such as benchmarks/RESULTS.md.")
]


def engine(
    *,
    repetitions: Annotated[
        int,
        Parameter(help="How often everything is measured; medians are shown.", validator=Number(gte=1)),
    ] = 5,
    results: Results = None,
) -> None:
    """Measure perft, random play and observations beside every installed rival; print medians, spread and ratios."""
    from keisei.bench.engine import Plan, run
    from keisei.bench.table import describe_machine

    table = run(Plan(repetitions=repetitions), progress=_to_stderr())
    _show(table, results, describe_machine())


def gpu(
    *,
    networks: Annotated[
        str, Parameter(help="Blocks and channels of the networks, with commas.")
    ] = "6x128,10x128",
    config: Annotated[Path, Parameter(help="YAML file of the run.")] = GPU_RECIPE,
    updates: Annotated[
        int, Parameter(help="Updates that each run is measured over.", validator=Number(gte=1))
    ] = 20,
    results: Results = None,
) -> None:
    """Measure the network alone and real training on the first GPU; print speeds, the bound and the idle share."""
    import torch

    from keisei.bench.gpu import Shape, run
    from keisei.config_loader import load_config

    shapes = [Shape.parse(text) for text in networks.split(",")]
    table = run(load_config(config).config, shapes, updates=updates, progress=_to_stderr())
    _show(table, results, torch.cuda.get_device_name())


def _to_stderr() -> Callable[[str], None]:
    return Console(stderr=True, highlight=False, markup=False).print


def _show(table: Table, results: Path | None, machine: str) -> None:
    from keisei.bench.table import describe_commit

    console = Console(highlight=False, markup=False, soft_wrap=True)
    for line in table.lines():
        console.print(line)
    if results is None:
        return
    lines = table.results_lines(machine, describe_commit(Path.cwd()))
    header = [] if results.exists() else table.results_header()
    with results.open("a", encoding="utf-8") as file:
        file.write("\n".join([*header, *lines]) + "\n")
    console.print(f"written to {results}")
