"""`keisei perft`, `keisei show`, `keisei verify-engine`: the rules by themselves."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number
from rich.console import Console

from keisei.shogi import STANDARD_SFEN, ShogiGame

EXIT_DISAGREED = 1
#: Nobody waits for more: each ply takes about fifty times as long.
MAX_PERFT_DEPTH = 20

Sfen = Annotated[str, Parameter(help="The position; the standard start if not given.")]


def perft(
    depth: Annotated[
        int,
        Parameter(help="Length of the sequences in plies.", validator=Number(gte=0, lte=MAX_PERFT_DEPTH)),
    ],
    *,
    sfen: Sfen = STANDARD_SFEN,
    divide: Annotated[bool, Parameter(help="Also print the count for each first move.", negative="")] = False,
) -> None:
    """Count the legal move sequences of a length. The last line is `nodes N`."""
    console = Console(highlight=False, soft_wrap=True)
    game = ShogiGame(sfen)
    if divide and depth > 0:
        parts = game.perft_divide(depth)
        for usi in sorted(parts):
            console.print(f"{usi} {parts[usi]}")
        nodes = sum(parts.values())
    else:
        nodes = game.perft(depth)
    console.print(f"nodes {nodes}")


def show(
    sfen: Sfen = STANDARD_SFEN,
    *,
    style: Annotated[Literal["kanji", "ascii", "svg"], Parameter(help="How to draw the pieces.")] = "kanji",
) -> None:
    """Draw a position and say what can happen in it."""
    from keisei.shogi.board_text import board_text

    console = Console(highlight=False, markup=False, soft_wrap=True)
    game = ShogiGame(sfen)
    if style == "svg":
        console.print(game._repr_svg_())
        return
    console.print(board_text(game._pieces(), game._hands(), int(game.turn), style=style))
    console.print(game.sfen)
    console.print(f"{len(game.legal_moves())} legal moves{', in check' if game.is_in_check else ''}")
    mate = game.mate_in_one()
    if mate is not None:
        console.print(f"mate in one: {mate.usi}")
    if game.can_declare_win():
        console.print(f"{game.turn.name.lower()} may declare a win")
    if game.outcome is not None:
        winner = "nobody" if game.outcome.winner is None else game.outcome.winner.name.lower()
        console.print(f"the game is over: {game.outcome.reason.value}, {winner} wins")


def verify_engine(
    *,
    positions: Annotated[
        int, Parameter(help="How many positions to compare; millions take hours.", validator=Number(gte=1))
    ] = 100_000,
    seed: Annotated[int, Parameter(help="Which random games to play.")] = 1,
) -> None:
    """Compare legal moves, checks, mates, SFEN, repetition and declarations with every installed oracle."""
    from rich.progress import Progress

    from keisei.shogi.verification import verify

    console = Console(highlight=False, markup=False, soft_wrap=True)
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("comparing positions", total=positions)
        report = verify(
            positions, seed, progress=lambda done, wanted: bar.update(task, completed=done, total=wanted)
        )
    for line in report.lines():
        console.print(line)
    console.print("all oracles agree" if report.agreed else "THERE ARE DISAGREEMENTS")
    if not report.agreed:
        raise SystemExit(EXIT_DISAGREED)
