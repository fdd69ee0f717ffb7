"""What the games that ended in a rollout say, as figures for the journal."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np

from keisei.core.rollout import RolloutSummary
from keisei.shogi import Reason


def game_figures(summary: RolloutSummary) -> dict[str, float]:
    """Figures of the games that ended in a rollout; none of them when none did."""
    finished = summary.finished
    if not finished:
        return {}
    reasons = Counter(game.reason for game in finished)
    return {
        "games_finished": float(len(finished)),
        "game_plies": float(np.mean([game.plies for game in finished])),
        "truncated_share": reasons[Reason.MAX_PLIES.value] / len(finished),
        "black_share": float(np.mean([game.winner == "black" for game in finished])),
        "white_share": float(np.mean([game.winner == "white" for game in finished])),
        **{f"ended_{reason.value}": reasons[reason.value] / len(finished) for reason in Reason},
        **_scores(summary),
    }


def _scores(summary: RolloutSummary) -> dict[str, float]:
    """The learner's points per game against each kind of opponent that it met."""
    points: defaultdict[str, list[float]] = defaultdict(list)
    for game in summary.finished:
        if game.points is not None:
            points[game.opponent].append(game.points)
    return {f"score_{opponent}": float(np.mean(values)) for opponent, values in points.items()}
