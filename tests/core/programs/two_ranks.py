"""One of two ranks: learns with the other in several ways, writes what came of each, and then one says no more."""

import math
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from agents import agent, weights
from rank_rows import rank_buffer

from keisei.core.experience_buffer import ExperienceBuffer
from keisei.core.ppo_agent import PPOAgent
from keisei.core.rank_place import RankPlace
from keisei.core.ranks import Ranks, joined_ranks
from keisei.errors import RankLostError

RANK, FOLDER = int(sys.argv[1]), Path(sys.argv[2])
LONG_SECONDS, SHORT_SECONDS = 60.0, 5.0
SIZE = 24
Outcome = dict[str, Any]


def own_buffer(ranks: Ranks, **changes: Any) -> ExperienceBuffer:
    return rank_buffer(RANK, total=ranks.add_up_array, **changes)


def outcome(player: PPOAgent, figures: dict[str, float], **more: Any) -> Outcome:
    return {"figures": figures, "weights": weights(player), **more}


def several_updates(ranks: Ranks) -> Outcome:
    player = agent(ranks, epochs=2, minibatch_size=SIZE, learning_rate=3e-3)
    for _ in range(3):
        figures = player.learn(own_buffer(ranks), 0.0)
    return outcome(player, figures)


def all_rows_at_once(ranks: Ranks) -> Outcome:
    buffer = own_buffer(ranks)
    player = agent(ranks, epochs=3, minibatch_size=len(buffer))
    figures = player.learn(buffer, 0.0)
    return outcome(player, figures, advantage=torch.from_numpy(buffer.targets.advantage.copy()))


def far_rows_on_one(ranks: Ranks) -> Outcome:
    """The rows of the first were played by the learner itself, those of the other were not."""
    player = agent(ranks, epochs=3, minibatch_size=SIZE, learning_rate=1e-6, target_kl=1e-4)
    buffer = own_buffer(ranks, player=player.inference if RANK == 0 else None)
    return outcome(player, player.learn(buffer, 0.0))


def one_wants_to_stop(ranks: Ranks) -> Outcome:
    player = agent(ranks, epochs=3, minibatch_size=SIZE)
    asked = iter(range(10**6))
    return outcome(
        player, player.learn(own_buffer(ranks), 0.0, should_stop=lambda: RANK == 1 and next(asked) >= 1)
    )


def few_rows_on_one(ranks: Ranks) -> Outcome:
    player, buffer = agent(ranks, epochs=2, minibatch_size=SIZE), own_buffer(ranks)
    if RANK == 1:
        buffer.rows.learner[SIZE + 1 :] = False
    return outcome(player, player.learn(buffer, 0.0))


def no_rows_on_one(ranks: Ranks) -> Outcome:
    player, buffer = agent(ranks, minibatch_size=SIZE), own_buffer(ranks)
    if RANK == 1:
        buffer.rows.learner[:] = False
    return outcome(player, player.learn(buffer, 0.0))


def not_finite_on_one(ranks: Ranks) -> Outcome:
    buffer = own_buffer(ranks)
    buffer.fill_targets()
    if RANK == 1:
        buffer.targets.advantage[:] = math.nan
    player = agent(ranks, minibatch_size=len(buffer))
    return outcome(player, player.learn(buffer, 0.0))


def words(ranks: Ranks) -> Outcome:
    return {
        "told": ranks.told(f"by {RANK}"),
        "gathered": ranks.gathered(f"by {RANK}"),
        "any": [ranks.any(flag) for flag in (False, RANK == 1, True)],
        "least": ranks.least(RANK + 3),
    }


SCENARIOS: tuple[Callable[[Ranks], Outcome], ...] = (
    several_updates,
    all_rows_at_once,
    far_rows_on_one,
    one_wants_to_stop,
    few_rows_on_one,
    no_rows_on_one,
    not_finite_on_one,
    words,
)


def one_falls_silent(ranks: Ranks) -> Outcome:
    pids = ranks.gathered(os.getpid())
    if RANK == 1:
        signal.pause()
    try:
        ranks.any(False)
    except RankLostError as error:
        return {"error": str(error)}
    finally:
        os.kill(pids[1], signal.SIGKILL)
    return {}


def main() -> None:
    torch.set_num_threads(1)
    place = RankPlace(RANK, 2, RANK, 2)
    meeting = f"file://{FOLDER / 'meeting'}"
    with joined_ranks(place, timeout_seconds=LONG_SECONDS, meeting_point=meeting) as ranks:
        outcomes = {scenario.__name__: scenario(ranks) for scenario in SCENARIOS}
        torch.save(outcomes, FOLDER / f"{RANK}.pt")
        ranks.any(False)
    with joined_ranks(place, timeout_seconds=SHORT_SECONDS, meeting_point=f"{meeting}-again") as ranks:
        outcomes["one_falls_silent"] = one_falls_silent(ranks)
        torch.save(outcomes, FOLDER / f"{RANK}.pt")


main()
