"""What looking for a mate in one costs at every ply: games stepped with and without it, in turns, by one thread.

Random games from mixed starts, after their first plies. The time is the thread's own, so other programs matter little.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from figures import Figures

from keisei.shogi import ShogiVectorEnv, Starts

SEED = 1
FIRST_PLIES = 60
STARTS = Starts(standard=0.3, random_prefix=0.4, earlier=0.3, prefix_plies=40)
SUBJECTS = {False: "without mates", True: "with mates"}


def plies_per_second(games: int, plies: int, *, mates: bool) -> float:
    env = ShogiVectorEnv(games, SEED, 1, mate_in_one=mates, starts=STARTS)
    actions = np.zeros(games, np.int32)
    for _ in range(FIRST_PLIES):
        env.step(env.random_actions(actions))
    seconds = 0.0
    for _ in range(plies):
        env.random_actions(actions)
        began = time.thread_time()
        env.step(actions)
        seconds += time.thread_time() - began
    return games * plies / seconds


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--games", type=int, default=512)
    parser.add_argument("--plies", type=int, default=150)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--results", type=Path, default=None, help="file to append the figures to")
    options = parser.parse_args(arguments)
    figures = Figures()
    for _ in range(options.repetitions):
        for mates, subject in SUBJECTS.items():
            rate = plies_per_second(options.games, options.plies, mates=mates)
            figures.note("step", subject, "plies/s", rate)
    figures.finish(options.results)


if __name__ == "__main__":
    main()
