"""How a console snapshot looks: as a block of a terminal, and as one line of text. Pure functions.

Texts from outside (names, boards, health words) go into ``Text`` objects, so that rich reads no markup in
them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from keisei.record.figures import duration, sparkline

if TYPE_CHECKING:
    from keisei.record.console import ConsoleSnapshot, HealthLevel

SIDE_BY_SIDE_COLUMNS = 80  # the classic terminal, 80 x 24, shows everything
WIDE_COLUMNS = 100
BAR_COLUMNS = 12
WIDE_BAR_COLUMNS = 24

HEALTH_STYLES: dict[HealthLevel, str] = {"good": "green", "warning": "yellow", "bad": "bold red"}


def plain_line(snapshot: ConsoleSnapshot) -> str:
    """One line for logs and pipes."""
    parts = [
        f"update {snapshot.update}",
        f"{snapshot.plies:,} plies ({snapshot.progress:.0%})",
        f"{snapshot.plies_per_second:,.0f} plies/s",
        f"{snapshot.games:,} games",
        _remaining(snapshot),
        *(f"{name} {values[-1]:.4g}" for name, values in snapshot.curves.items() if values),
        snapshot.health.words,
    ]
    if snapshot.strength:
        parts.append(snapshot.strength)
    return ", ".join(parts)


def live_view(snapshot: ConsoleSnapshot, width: int, *, ascii_only: bool = False) -> RenderableType:
    """The block of a terminal ``width`` columns wide.

    The board stands beside the figures if there is room.
    """
    bar_columns = WIDE_BAR_COLUMNS if width >= WIDE_COLUMNS else BAR_COLUMNS
    curves = _curves(snapshot, bar_columns, ascii_only=ascii_only)
    figures = Group(curves, Text(), _results(snapshot, bar_columns, ascii_only=ascii_only))
    board = Text(snapshot.board, no_wrap=True)
    body: RenderableType = Group(figures, Text(), board)
    if width >= SIDE_BY_SIDE_COLUMNS:
        body = Table.grid(padding=(0, 2))
        body.add_row(figures, board)
    # Above the rest: a terminal that is too low cuts the block off at its foot.
    health = Text(snapshot.health.words, style=HEALTH_STYLES[snapshot.health.level])
    strength = [Text(snapshot.strength)] if snapshot.strength else []
    title = Text.assemble("Keisei ", (snapshot.run_name, "bold"))
    head = Group(_progress(snapshot), health, *strength)
    return Panel(Group(head, Padding(body, (1, 0, 0, 0))), title=title, width=width)


def _remaining(snapshot: ConsoleSnapshot) -> str:
    remaining = snapshot.remaining_seconds
    return "time left unknown" if remaining is None else f"{duration(remaining)} left"


def _progress(snapshot: ConsoleSnapshot) -> RenderableType:
    done = f"{snapshot.plies:,} of {snapshot.total_plies:,} plies"
    counts = Text(f"{done}, update {snapshot.update}, {snapshot.games:,} games")
    speed = f"{snapshot.plies_per_second:,.0f} plies/s"
    pace = Text(f"{speed}, {duration(snapshot.elapsed_seconds)} so far, {_remaining(snapshot)}")
    bar = Table.grid(padding=(0, 1), expand=True)
    bar.add_column(ratio=1)
    bar.add_column(justify="right")
    bar.add_row(ProgressBar(total=1.0, completed=snapshot.progress), Text(f"{snapshot.progress:.0%}"))
    return Group(bar, counts, pace)


def _curves(snapshot: ConsoleSnapshot, bar_columns: int, *, ascii_only: bool) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    table.add_column()
    table.add_column(justify="right")
    for name, values in snapshot.curves.items():
        newest = f"{values[-1]:.4g}" if values else "-"
        line = sparkline(values, bar_columns, ascii_only=ascii_only)
        table.add_row(Text(name), Text(newest), Text(line, style="cyan"))
    return table


def _results(snapshot: ConsoleSnapshot, bar_columns: int, *, ascii_only: bool) -> RenderableType:
    """Shares of the games by reason, then by winner."""
    table = Table.grid(padding=(0, 2))
    table.add_column()
    table.add_column(justify="right")
    total = max(snapshot.games, 1)
    for reason, count in snapshot.results_by_reason.items():
        bar = ("#" if ascii_only else "█") * round(bar_columns * count / total)
        table.add_row(
            Text(reason.replace("_", " ")), Text(f"{count / total:.1%}"), Text(bar, style="magenta")
        )
    winners = ", ".join(f"{name} {count / total:.1%}" for name, count in snapshot.results_by_winner.items())
    return Group(table, Text(f"winner: {winners}" if snapshot.games else "no game has ended yet"))
