"""`keisei export`: a trained network for other programs, or for other people."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number
from rich.console import Console

from keisei.commands.matches import Device
from keisei.commands.runs import DEFAULT_RUNS, RunsFolder
from keisei.errors import ConfigError

DEFAULT_OPPONENTS = "random,mate1,greedy,ab1,ab2"
DEFAULT_GAMES = 100


def export(
    checkpoint: Annotated[
        str,
        Parameter(
            help="A checkpoint folder, or a run (name or folder): its newest one; RUN@strongest; shipped."
        ),
    ],
    *,
    onnx: Annotated[Path | None, Parameter(help="The ONNX file to write.")] = None,
    network: Annotated[
        Path | None,
        Parameter(help="The folder to write: weights in half precision, 10 MB at most, with a model card."),
    ] = None,
    games: Annotated[
        int,
        Parameter(
            help="Games against each opponent of the model card; 0 = not measured.", validator=Number(gte=0)
        ),
    ] = DEFAULT_GAMES,
    opponents: Annotated[
        str, Parameter(help="Opponents of the model card, with commas.")
    ] = DEFAULT_OPPONENTS,
    fact: Annotated[
        list[str] | None,
        Parameter(help="NAME=VALUE for the model card, e.g. commit=8fe2b3a; may be repeated.", negative=""),
    ] = None,
    runs: RunsFolder = DEFAULT_RUNS,
    device: Device = "auto",
) -> None:
    """Write a network as ONNX, compared with PyTorch on 1,000 positions, or as a small folder that plays.

    The folder loads wherever a checkpoint is named. Its model card tells how the network was trained, and its scores
    against the opponents, which are played for it.
    """
    if onnx is None and network is None:
        raise ConfigError("nothing to write: pass --onnx FILE or --network FOLDER")
    if onnx is not None:
        _export_onnx(checkpoint, onnx, runs)
    if network is not None:
        _export_network(checkpoint, network, games, opponents.split(","), fact or [], runs, device)


def _export_onnx(checkpoint: str, path: Path, runs: Path) -> None:
    from keisei import __version__
    from keisei.core.onnx_export import CHECKED_POSITIONS, export_onnx
    from keisei.evaluation.checkpoint_network import find_checkpoint, load_network

    network, manifest = load_network(find_checkpoint(checkpoint, runs))
    described = asdict(manifest)
    metadata = {name: described[name] for name in ("update", "plies", "created", "architecture")}
    difference = export_onnx(network, path, {"producer": f"Keisei {__version__}", **metadata})
    _say(
        f"written to {path}: update {manifest.update}, {path.stat().st_size:,} bytes; "
        f"differs from PyTorch by at most {difference:.1e} on {CHECKED_POSITIONS:,} positions"
    )


def _export_network(
    checkpoint: str, folder: Path, games: int, opponents: list[str], added: list[str], runs: Path, device: str
) -> None:
    from keisei.commands.model_card import model_card
    from keisei.commands.network_facts import FACTS_STATE, network_facts
    from keisei.commands.network_scores import play_scores
    from keisei.core.compact_network import CompactNetwork, refuse_other_folder
    from keisei.evaluation.checkpoint_network import find_checkpoint, good_checkpoint, network_of
    from keisei.evaluation.checkpoint_player import run_of
    from keisei.networks import CARD_FILE

    if games % 2:
        raise ConfigError(f"games are played in pairs, so their number is even, got {games!r}")
    refuse_other_folder(folder)
    path = find_checkpoint(checkpoint, runs)
    source = good_checkpoint(path)
    facts = network_facts(source, run_of(path), added)
    compact = CompactNetwork.of(network_of(source), source.manifest)
    scores = play_scores(compact.network, opponents, games, device) if games else []
    card = model_card(_name_of(folder), compact, facts, scores)
    state = {FACTS_STATE: facts, "scores": [score.as_json for score in scores]}
    compact.write(folder, state, {CARD_FILE: card})
    _say(
        f"written to {folder}: update {source.manifest.update}, {compact.size:,} bytes; "
        f"the same favourite move in {compact.agreement:.1%} of positions; read {folder / CARD_FILE}"
    )


def _name_of(folder: Path) -> str:
    """What the network is called on a command line once it is there."""
    from keisei.networks import SHIPPED, shipped_network

    return SHIPPED if folder.resolve() == shipped_network() else folder.name


def _say(text: str) -> None:
    Console(highlight=False, markup=False, soft_wrap=True).print(text)
