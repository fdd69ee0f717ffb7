"""`keisei export`: a trained network for other programs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from keisei.commands.runs import DEFAULT_RUNS, RunsFolder


def export(
    checkpoint: Annotated[
        str, Parameter(help="A checkpoint folder, or a run (name or folder): its newest one.")
    ],
    *,
    onnx: Annotated[Path, Parameter(help="The ONNX file to write.")],
    runs: RunsFolder = DEFAULT_RUNS,
) -> None:
    """Write a network as ONNX, compared with PyTorch on 1,000 positions before it is written."""
    from keisei import __version__
    from keisei.core.onnx_export import CHECKED_POSITIONS, export_onnx
    from keisei.evaluation.checkpoint_network import find_checkpoint, load_network

    network, manifest = load_network(find_checkpoint(checkpoint, runs))
    described = asdict(manifest)
    metadata = {name: described[name] for name in ("update", "plies", "created", "architecture")}
    difference = export_onnx(network, onnx, {"producer": f"Keisei {__version__}", **metadata})
    console = Console(highlight=False, markup=False, soft_wrap=True)
    console.print(
        f"written to {onnx}: update {manifest.update}, {onnx.stat().st_size:,} bytes; "
        f"differs from PyTorch by at most {difference:.1e} on {CHECKED_POSITIONS:,} positions"
    )
