"""The rows of two ranks: not as many, not from the same games."""

from self_play import environment, inference, settings

from keisei.core.advantages import Total
from keisei.core.experience_buffer import ExperienceBuffer
from keisei.core.inference import Inference
from keisei.core.rollout import Rollout
from keisei.core.rollout_rows import RolloutRows

PLIES = 16
GAMES_OF_RANK = (12, 8)
GAMMA, LAM = 0.99, 0.9


def rank_buffer(
    rank: int, *, player: Inference | None = None, total: Total | None = None
) -> ExperienceBuffer:
    """One rollout of a rank, by a network that nobody learns unless ``player`` is given, with its targets."""
    games = GAMES_OF_RANK[rank]
    rollout = Rollout(environment(games, seed=rank), settings(), seed=rank)
    rows = RolloutRows.allocate(PLIES, games)
    rollout.play(rows, player or inference(seed=9), version=1)
    buffer = ExperienceBuffer(rows.action.size)
    buffer.add_batch(rows)
    buffer.compute_targets(gamma=GAMMA, lam=LAM, total=total)
    return buffer


def buffer_of_all() -> ExperienceBuffer:
    """The rows of both ranks in one process."""
    parts = [rank_buffer(rank) for rank in range(len(GAMES_OF_RANK))]
    buffer = ExperienceBuffer(sum(map(len, parts)))
    buffer.merge_buffers(parts)
    buffer.compute_targets(gamma=GAMMA, lam=LAM)
    return buffer
