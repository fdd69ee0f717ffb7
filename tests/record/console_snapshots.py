"""One snapshot for the tests of the console and its layout."""

import math

from keisei.record.console import ConsoleSnapshot, Health


def snapshot(update: int = 12) -> ConsoleSnapshot:
    return ConsoleSnapshot(
        run_name="quiet-lance",
        update=update,
        plies=1000,
        total_plies=4000,
        games=90,
        elapsed_seconds=20.0,
        time_limit_seconds=0.0,
        plies_per_second=50.0,
        curves={"policy loss": (1.0, 0.5, 0.25), "kl": (0.1, math.nan)},
        results_by_winner={"black": 45, "white": 40, "none": 5},
        results_by_reason={"checkmate": 60, "max_plies": 30},
        board="| 歩 ・ 玉 |\n| ・ 飛 ・ |",
        health=Health("good", "learning well"),
    )
