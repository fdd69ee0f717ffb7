"""What the live display costs: computing time of one picture, and its share of a core at the usual pace."""

from __future__ import annotations

import argparse
import io
import time
from collections.abc import Sequence
from pathlib import Path

from figures import Figures
from rich.console import Console

from keisei.config_schema import RecordConfig
from keisei.record.console import ConsoleSnapshot, Health, LivePainter
from keisei.shogi import ShogiGame
from keisei.training.training_loop_manager import CURVE_LENGTH, CURVES

PICTURES = 100
WIDTH, HEIGHT = 120, 50


def snapshot(update: int) -> ConsoleSnapshot:
    """As full as a display gets."""
    return ConsoleSnapshot(
        run_name="benchmark",
        update=update,
        plies=4096 * update,
        total_plies=700_000,
        games=40 * update,
        elapsed_seconds=float(update),
        time_limit_seconds=480.0,
        plies_per_second=3000.0,
        curves={name: tuple(float(point % 7) for point in range(CURVE_LENGTH)) for name in CURVES},
        results_by_winner={"black": 20, "white": 20},
        results_by_reason={"checkmate": 38, "repetition": 2},
        board=str(ShogiGame()),
        health=Health("good", "learning normally"),
    )


def seconds_per_picture() -> float:
    """Of computing time, the snapshot included."""
    painter = LivePainter(Console(file=io.StringIO(), force_terminal=True, width=WIDTH, height=HEIGHT))
    painter.paint(snapshot(0))
    began = time.process_time()
    for update in range(PICTURES):
        painter.paint(snapshot(update))
    return (time.process_time() - began) / PICTURES


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--results", type=Path, default=None, help="file to append the figures to")
    options = parser.parse_args(arguments)
    figures = Figures()
    for _ in range(options.repetitions):
        seconds = seconds_per_picture()
        share = seconds / RecordConfig().console_interval_seconds
        figures.note("console: one picture", f"{WIDTH}x{HEIGHT}", "ms", 1000 * seconds)
        figures.note("console: share of one core", "at the default interval", "%", 100 * share)
    figures.finish(options.results)


if __name__ == "__main__":
    main()
