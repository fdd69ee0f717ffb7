"""Random but consistent rollouts for the tests of this folder."""

import numpy as np

from keisei.core.rollout_rows import RolloutRows

ACTIONS = 2187


def random_rollout(
    seed: int, plies: int, games: int, *, end_share: float = 0.15, learner_share: float = 0.7
) -> RolloutRows:
    """``[plies, games]`` rows in which every game is numbered once and ends at most once."""
    generator = np.random.default_rng(seed)
    shape = (plies, games)
    rows = RolloutRows.allocate(*shape)
    ends = generator.random(shape) < end_share
    rows.terminated[:] = ends & (generator.random(shape) < 0.5)
    rows.truncated[:] = ends & ~rows.terminated
    finished_before = np.zeros(shape, np.int64)
    finished_before[1:] = np.cumsum(ends, axis=0)[:-1]
    rows.game[:] = finished_before * games + np.arange(games)
    rows.record[:] = generator.integers(0, 29, rows.record.shape)
    rows.action[:] = generator.integers(0, ACTIONS, shape)
    rows.version[:] = seed % 1000 + 1
    rows.log_prob[:] = -generator.exponential(3.0, shape)
    rows.value[:] = generator.uniform(-1, 1, shape)
    rows.next_value[:] = generator.uniform(-1, 1, shape)
    rows.reward[:] = np.where(rows.terminated, generator.integers(-1, 2, shape), 0)
    rows.learner[:] = generator.random(shape) < learner_share
    rows.forced[:] = rows.learner & (generator.random(shape) < 0.2)
    return rows
