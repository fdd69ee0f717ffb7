"""`keisei play`: a game against the network in the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.console import Console

from keisei.commands.runs import DEFAULT_RUNS, RunsFolder
from keisei.commands.terminal_game import PROMPT, TerminalGame
from keisei.networks import SHIPPED
from keisei.shogi import Color


def play(
    checkpoint: Annotated[
        str,
        Parameter(
            help="A checkpoint folder, a run (name or folder) or auto for the run trained last; the network that "
            "comes with Keisei if not given."
        ),
    ] = SHIPPED,
    *,
    color: Annotated[Literal["black", "white"], Parameter(help="Your side; black moves first.")] = "black",
    simulations: Annotated[
        int, Parameter(help="How hard Keisei thinks: simulations a move, 0 for none.")
    ] = 400,
    sfen: Annotated[
        str | None, Parameter(help="The position to begin with; the standard start if not given.")
    ] = None,
    style: Annotated[Literal["kanji", "ascii"], Parameter(help="How to draw the pieces.")] = "kanji",
    runs: RunsFolder = DEFAULT_RUNS,
) -> None:
    """Play against a network: board, hands, legal moves, hints, undo and winning chances."""
    import torch

    from keisei.core.devices import choose_device
    from keisei.core.inference import Inference
    from keisei.evaluation.checkpoint_network import find_checkpoint, load_network

    network, manifest = load_network(find_checkpoint(checkpoint, runs))
    device = choose_device("auto")
    inference = Inference(
        network.to(device), device=device, precision="fp32", num_threads=torch.get_num_threads()
    )
    console = Console(highlight=False, markup=False, soft_wrap=True)
    if checkpoint == SHIPPED:
        console.print("This network comes with Keisei; `keisei play auto` plays the run trained last.")
    console.print(f"Keisei after {manifest.update:,} updates and {manifest.plies:,} plies of self-play.")
    game = TerminalGame(
        inference,
        console.print,
        human=Color[color.upper()],
        simulations=simulations,
        sfen=sfen,
        style=style,
    )
    game.play(_typed_lines(console))


def _typed_lines(console: Console) -> Iterator[str]:
    """What is typed, or piped in; bytes that are no text become question marks instead of an end."""
    reconfigure = getattr(sys.stdin, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
    while True:
        try:
            yield input(PROMPT if sys.stdin.isatty() else "")
        except EOFError:
            console.print("Goodbye.")
            return
