"""How strong a run was when: every kept checkpoint rated against opponents that never change.

Prints a table and draws the ratings with their 95 % intervals over minutes of training and over plies. Train with
training.keep_every, so that there are checkpoints to rate. Each plays by its policy's likeliest move, in pairs of games
from random openings.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Final

import torch

from keisei.commands.report_charts import HEIGHT, WIDTH, Line, line_chart
from keisei.config_loader import load_config, overridden
from keisei.config_schema import AppConfig
from keisei.core.checkpoint import CheckpointFolder
from keisei.core.devices import choose_device
from keisei.evaluation.checkpoint_network import load_network
from keisei.evaluation.ratings import Rating
from keisei.evaluation.scores import Score
from keisei.record.journal import JournalReader
from keisei.record.run_directory import RunDirectory
from keisei.training.grading import grade

PHASE_PREFIX: Final = "seconds_"
SECONDS_PER_MINUTE: Final = 60
PLIES_PER_UNIT: Final = 1e6
STYLE: Final = (
    "<style>.chart text { fill: #666; font: 12px sans-serif; } .right { text-anchor: end; } "
    ".middle { text-anchor: middle; } .grid { stroke: #ddd; } .axis { stroke: #666; } "
    ".line, .bar { fill: none; stroke: #2a6fb0; stroke-width: 1.6; } .dot { fill: #fff; stroke: #2a6fb0; }</style>"
)


@dataclass(frozen=True)
class Point:
    """A network of the run and what it showed."""

    minutes: float
    plies: int
    rating: Rating
    scores: Mapping[str, Score]


def minutes_by_update(run: RunDirectory) -> dict[int, float]:
    """Minutes of training, start-up and compilers included, that had passed when an update was done."""
    seconds: dict[int, float] = {}
    with JournalReader(run.journal_path) as journal:
        for name in journal.metric_names():
            if name.startswith(PHASE_PREFIX):
                for value in journal.series(name):
                    seconds[value.update] = seconds.get(value.update, 0.0) + value.value
    updates = sorted(seconds)
    passed = accumulate(seconds[update] for update in updates)
    return {update: total / SECONDS_PER_MINUTE for update, total in zip(updates, passed, strict=True)}


def rated(run: RunDirectory, config: AppConfig, registry: Path) -> list[Point]:
    """All checkpoints but the untrained one."""
    minutes = minutes_by_update(run)
    device = choose_device("auto")
    points = []
    for path in CheckpointFolder(run.checkpoints_path).paths():
        network, manifest = load_network(path)
        if manifest.update not in minutes:
            continue
        found = grade(config, network.to(device), device, name=path.name, registry=registry)
        if found.rating is None:
            raise SystemExit(found.problem)
        points.append(Point(minutes[manifest.update], manifest.plies, found.rating, found.scores))
        print(table_line(points[-1]), flush=True)
    return points


def table_line(point: Point) -> str:
    scores = " | ".join(f"{100 * score.share:.0f} %" for score in point.scores.values())
    millions = point.plies / PLIES_PER_UNIT
    return f"| {point.minutes:.1f} | {millions:.0f} million | {point.rating} | {scores} |"


def picture(points: Sequence[Point]) -> str:
    """One SVG file: ratings over minutes, and below over plies."""
    by_minutes = [(point.minutes, point.rating) for point in points]
    by_plies = [(point.plies / PLIES_PER_UNIT, point.rating) for point in points]
    charts = [chart(by_minutes, "minutes of training"), chart(by_plies, "million plies of self-play")]
    placed = [
        part.replace("<svg ", f'<svg y="{number * HEIGHT}" width="{WIDTH}" height="{HEIGHT}" ', 1)
        for number, part in enumerate(charts)
    ]
    size = f'viewBox="0 0 {WIDTH} {len(charts) * HEIGHT}"'
    background = '<rect width="100%" height="100%" fill="#fff"/>'
    return "\n".join(
        [f'<svg xmlns="http://www.w3.org/2000/svg" {size}>', STYLE, background, *placed, "</svg>\n"]
    )


def chart(ratings: Sequence[tuple[float, Rating]], x_name: str) -> str:
    line = Line(
        "rating",
        [(x, rating.elo) for x, rating in ratings],
        [(x, rating.low, rating.high) for x, rating in ratings],
        has_dots=True,
    )
    return line_chart([line], f"Elo over {x_name}", f"Elo over {x_name}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, help="folder of the run")
    parser.add_argument("--opponents", default="mate1,greedy,ab1,ab2,ab3", help="with commas")
    parser.add_argument("--games", type=int, default=100, help="against each opponent")
    parser.add_argument(
        "--registry", type=Path, default=None, help="what the opponents play among each other"
    )
    parser.add_argument("--picture", type=Path, default=None, help="SVG file to write")
    options = parser.parse_args(arguments)
    run = RunDirectory.open(options.run)
    opponents = options.opponents.split(",")
    settings = {"evaluation.opponents": opponents, "evaluation.games": options.games}
    config = overridden(load_config().config, settings, "on the command line")
    torch.set_grad_enabled(False)
    print(f"| minutes | plies | Elo [95 %] | {' | '.join(opponents)} |")
    print(f"|{'---|' * (len(opponents) + 3)}", flush=True)
    points = rated(run, config, options.registry or run.path / "registry.json")
    if options.picture is not None:
        options.picture.write_text(picture(points), encoding="utf-8")


if __name__ == "__main__":
    main()
