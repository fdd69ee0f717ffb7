"""What the ranks of a run agree on between updates: the rollout of all, and whether to end or to go back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from keisei.core.ranks import Ranks
from keisei.core.rollout import RolloutSummary
from keisei.training.collapse_guard import RollBackRequested


def rollout_of_all(summary: RolloutSummary, ranks: Ranks) -> RolloutSummary:
    """What happened on all ranks; whole games are kept of this one. Where one was stopped, all were."""
    if ranks.is_alone:
        return summary
    every = ranks.gathered(replace(summary, kept=[]))
    return RolloutSummary(
        plies=sum(each.plies for each in every),
        finished=[game for each in every for game in each.finished],
        kept=summary.kept,
        stopped=any(each.stopped for each in every),
    )


def agreed_end(reason: str | None, order: RollBackRequested | None, ranks: Ranks) -> str | None:
    """Why to end, if any rank has a reason. Raises the order to go back on all ranks where one has it."""
    every = ranks.gathered((reason, None if order is None else order.words))
    for _, words in every:
        if words is not None:
            # Only the rank that gives the order has the checkpoint.
            raise order or RollBackRequested(Path(), words)
    return next((reason for reason, _ in every if reason is not None), None)
