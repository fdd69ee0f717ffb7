"""The targets that a GPU computes against those of the buffer, which are computed ply by ply."""

import numpy as np
import torch
from card_rules import NothingFromTheHost
from hypothesis import given
from hypothesis import strategies as st
from joint_sums import with_joint_sums

from keisei.core.device_positions import PositionTables
from keisei.core.device_targets import DeviceTargets, RolloutOutcome, targets_of
from keisei.core.experience_buffer import ExperienceBuffer, Horizon
from keisei.core.ranks import ALONE
from keisei.core.rollout_rows import RolloutRows, RowTargets
from keisei.core.row_shares import AddUp

shares = st.floats(0, 1)
TABLES = PositionTables.on(torch.device("cpu"))


def rollout(seed: int, plies: int, games: int, end_share: float, frozen_share: float = 0.0) -> RolloutRows:
    """Rows of made-up games: numbers, ends and who moves by lot."""
    random = np.random.default_rng(seed)
    rows = RolloutRows.allocate(plies, games)
    shape = rows.action.shape
    done = random.random(shape) < end_share
    rows.truncated[:] = done & (random.random(shape) < 0.3)
    rows.terminated[:] = done & ~rows.truncated
    rows.reward[:] = rows.terminated * random.integers(-1, 2, shape)
    rows.value[:] = random.uniform(-1, 1, shape)
    rows.next_value[:] = random.uniform(-1, 1, shape)
    rows.action[:] = random.integers(0, 2187, shape)
    rows.forced[:] = random.random(shape) < 0.1
    rows.learner[:] = random.random(shape) >= frozen_share
    rows.record[..., :81] = random.integers(0, 29, (*shape, 81))
    before = np.cumsum(done, axis=0) - done
    rows.game[:] = np.arange(games) * (plies + 1) + before
    return rows


def expected(rows: RolloutRows, gamma: float, lam: float) -> RowTargets:
    buffer = ExperienceBuffer(rows.action.size)
    buffer.add_batch(rows)
    buffer.compute_targets(gamma=gamma, lam=lam)
    return buffer.targets


def outcome(rows: RolloutRows) -> RolloutOutcome:
    columns = {
        name: torch.from_numpy(array)
        for name, array in rows.arrays().items()
        if name in RolloutOutcome._fields
    }
    return RolloutOutcome(**columns)


def found(rows: RolloutRows, gamma: float, lam: float, add_up: AddUp = ALONE.add_up) -> DeviceTargets:
    return targets_of(outcome(rows), TABLES, Horizon(gamma, lam), add_up)


@given(
    st.integers(0, 10**6),
    st.integers(1, 40),
    st.integers(1, 6),
    shares,
    shares,
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_targets_are_those_of_the_buffer(
    seed: int, plies: int, games: int, end_share: float, frozen_share: float, gamma: float, lam: float
) -> None:
    rows = rollout(seed, plies, games, end_share, frozen_share)
    wanted = expected(rows, gamma, lam).arrays()
    for name, column in found(rows, gamma, lam)._asdict().items():
        assert column.shape == (plies, games)
        np.testing.assert_allclose(column.flatten().numpy(), wanted[name], rtol=1e-4, atol=1e-4, err_msg=name)
        assert column.numpy().dtype == wanted[name].dtype, name


def test_processes_normalise_as_one_that_has_all_games() -> None:
    rows = rollout(5, 30, 6, 0.1, 0.3)
    parts = [rows[:, :4], rows[:, 4:]]
    advantages = with_joint_sums(
        [lambda add_up, part=part: found(part, 0.99, 0.9, add_up).advantage for part in parts]
    )
    torch.testing.assert_close(torch.cat(advantages, dim=1), found(rows, 0.99, 0.9).advantage)
    alone = found(parts[1], 0.99, 0.9).advantage
    assert not torch.allclose(alone, advantages[1], atol=1e-3), "each for itself would differ"


def test_targets_can_be_captured() -> None:
    rows = outcome(rollout(1, 12, 5, 0.2, 0.3))
    with NothingFromTheHost((rows, TABLES)) as watch:
        targets_of(rows, TABLES, Horizon(0.99, 0.9), ALONE.add_up)
    assert watch.operations > 0
