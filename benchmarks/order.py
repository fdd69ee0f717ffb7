"""The order of the opponents that never change: each beats the one below it, proven by a match of its own.

Paired games from balanced random openings. A step counts as proven when the 95 % interval of the Elo difference lies
above 0; the script ends with status 1 when one does not.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from figures import Figures

from keisei.evaluation.arena import play_match
from keisei.evaluation.ladder import FIXED_ANCHORS
from keisei.evaluation.openings import random_openings
from keisei.evaluation.players import fixed_player
from keisei.evaluation.ratings import Rating, elo_difference
from keisei.shogi.types import DEFAULT_MAX_PLIES

PERCENT = 100


def measure(weaker: str, stronger: str, games: int, seed: int, figures: Figures) -> Rating:
    """Plays one step and notes its score and the difference; a whitewash has a lower bound only."""
    players = fixed_player(stronger, seed), fixed_player(weaker, seed + 1)
    match = play_match(*players, random_openings(games // 2, seed), max_plies=DEFAULT_MAX_PLIES)
    difference = elo_difference(match.pair_counts)
    subject = f"{stronger} against {weaker}, {games} games"
    low, high = match.score.interval
    shares = [PERCENT * share for share in (low, match.score.share, high)]
    elos = [elo for elo in (difference.low, difference.elo, difference.high) if math.isfinite(elo)]
    figures.add("order: score, ± its 95 % interval", subject, "%", shares)
    figures.add("order: difference, ± its 95 % interval", subject, "Elo", elos)
    print(f"{subject}: {match.score}, Elo {difference}", flush=True)
    return difference


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--games", type=int, default=400, help="games of each step")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path, default=None, help="file to append the figures to")
    options = parser.parse_args(arguments)
    figures = Figures()
    steps = [measure(*step, options.games, options.seed, figures) for step in pairwise(FIXED_ANCHORS)]
    figures.finish(options.results)
    return 0 if all(step.low > 0 for step in steps) else 1


if __name__ == "__main__":
    sys.exit(main())
