"""How strong a run was when: every kept checkpoint rated against opponents that never change.

Prints a table and draws the ratings with their 95 % intervals over minutes of training and over plies. Train with
training.keep_every, so that there are checkpoints to rate. Each plays by its policy's likeliest move, in pairs of games
from random openings.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Final

from keisei.commands.report_charts import HEIGHT, WIDTH, Line, line_chart
from keisei.core.checkpoint import CheckpointFolder
from keisei.evaluation.arena import MatchResult, play_match
from keisei.evaluation.checkpoint_player import load_player_network
from keisei.evaluation.openings import random_openings
from keisei.evaluation.players import PolicyPlayer, fixed_player
from keisei.evaluation.ratings import Rating, fit_ratings
from keisei.record.journal import JournalReader
from keisei.record.metrics import PHASE_PREFIX
from keisei.record.run_directory import RunDirectory
from keisei.shogi.types import DEFAULT_MAX_PLIES

SEED: Final = 1
SECONDS_PER_MINUTE: Final = 60
PLIES_PER_UNIT: Final = 1e6
STYLE: Final = (
    "<style>.chart text { fill: #666; font: 12px sans-serif; } .right { text-anchor: end; } "
    ".middle { text-anchor: middle; } .grid { stroke: #ddd; } .axis { stroke: #666; } "
    ".line, .bar { fill: none; stroke: #2a6fb0; stroke-width: 1.6; } .dot { fill: #fff; stroke: #2a6fb0; }</style>"
)


@dataclass(frozen=True)
class Measured:
    """A network of the run and how it did against each opponent."""

    name: str
    minutes: float
    plies: int
    matches: Mapping[str, MatchResult]


@dataclass(frozen=True)
class Point:
    """A network of the run on the scale."""

    measured: Measured
    rating: Rating


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


def measured(run: RunDirectory, opponents: Sequence[str], games: int) -> Iterator[Measured]:
    """All checkpoints but the untrained one."""
    minutes = minutes_by_update(run)
    openings = random_openings(games // 2, SEED)
    for path in CheckpointFolder(run.checkpoints_path).paths():
        loaded = load_player_network(str(path), run.path.parent, "auto")
        if loaded.manifest.update not in minutes:
            continue
        player = PolicyPlayer(path.name, loaded.inference)
        matches = {
            name: play_match(player, fixed_player(name, SEED), openings, max_plies=DEFAULT_MAX_PLIES)
            for name in opponents
        }
        yield Measured(path.name, minutes[loaded.manifest.update], loaded.manifest.plies, matches)


def rated(networks: Sequence[Measured], zero: str) -> list[Point]:
    """All networks on one scale: they are linked by the opponents they share."""
    results = {
        (network.name, opponent): match.pair_counts
        for network in networks
        for opponent, match in network.matches.items()
    }
    ratings = {rating.name: rating for rating in fit_ratings(results, zero)}
    return [Point(network, ratings[network.name]) for network in networks]


def scores_of(network: Measured) -> str:
    return " | ".join(f"{100 * match.score.share:.0f} %" for match in network.matches.values())


def table_line(point: Point) -> str:
    network = point.measured
    millions = network.plies / PLIES_PER_UNIT
    return f"| {network.minutes:.1f} | {millions:.0f} million | {point.rating} | {scores_of(network)} |"


def picture(points: Sequence[Point], zero: str) -> str:
    """One SVG file: ratings over minutes, and below over plies."""
    by_minutes = [(point.measured.minutes, point.rating) for point in points]
    by_plies = [(point.measured.plies / PLIES_PER_UNIT, point.rating) for point in points]
    charts = [
        chart(by_minutes, f"Elo above {zero} over minutes of training"),
        chart(by_plies, f"Elo above {zero} over million plies of self-play"),
    ]
    placed = [
        part.replace("<svg ", f'<svg y="{number * HEIGHT}" width="{WIDTH}" height="{HEIGHT}" ', 1)
        for number, part in enumerate(charts)
    ]
    size = f'viewBox="0 0 {WIDTH} {len(charts) * HEIGHT}"'
    background = '<rect width="100%" height="100%" fill="#fff"/>'
    return "\n".join(
        [f'<svg xmlns="http://www.w3.org/2000/svg" {size}>', STYLE, background, *placed, "</svg>\n"]
    )


def chart(ratings: Sequence[tuple[float, Rating]], title: str) -> str:
    line = Line(
        "rating",
        [(x, rating.elo) for x, rating in ratings],
        [(x, rating.low, rating.high) for x, rating in ratings],
        has_dots=True,
    )
    return line_chart([line], title, title)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, help="folder of the run")
    parser.add_argument("--opponents", default="greedy,ab1,ab2,ab3", help="with commas")
    parser.add_argument("--zero", default="ab2", help="the opponent whose rating is 0")
    parser.add_argument("--games", type=int, default=100, help="against each opponent")
    parser.add_argument("--picture", type=Path, default=None, help="SVG file to write")
    options = parser.parse_args(arguments)
    opponents = options.opponents.split(",")
    if options.zero not in opponents:
        parser.error(f"--zero must be one of the opponents {opponents}, not {options.zero!r}")
    networks = []
    for network in measured(RunDirectory.open(options.run), opponents, options.games):
        print(f"{network.name}, {network.minutes:.1f} minutes: {scores_of(network)}", flush=True)
        networks.append(network)
    points = rated(networks, options.zero)
    print(f"\n| minutes | plies | Elo above {options.zero} [95 %] | {' | '.join(opponents)} |")
    print(f"|{'---|' * (len(opponents) + 3)}")
    print("\n".join(map(table_line, points)))
    if options.picture is not None:
        options.picture.write_text(picture(points, options.zero), encoding="utf-8")


if __name__ == "__main__":
    main()
