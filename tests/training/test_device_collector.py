"""Collection for a GPU in its CPU twin: two halves of the games, each in a thread of its own."""

import numpy as np
import pytest
import torch
from tiny_runs import ROWS, tiny_config

from keisei.core.experience_buffer import ExperienceBuffer
from keisei.core.ppo_agent import PPOAgent
from keisei.shogi.policy import action_count
from keisei.shogi.positions import legal_mask_bits
from keisei.training.device_collector import HALVES, DeviceCollector

CPU = torch.device("cpu")


class Table:
    """A collector with its agent."""

    def __init__(self, **changes: object) -> None:
        self.config = tiny_config(1, **changes)
        self.agent = PPOAgent(self.config, CPU)
        self.collector = DeviceCollector(self.config, self.agent)
        self.buffer = ExperienceBuffer(ROWS)

    def collect(self, version: int = 1, *, stop: bool = False) -> ExperienceBuffer:
        self.buffer.clear()
        summary = self.collector.collect(self.buffer, version=version, should_stop=lambda: stop)
        assert summary.stopped == stop
        assert summary.plies == (0 if stop else ROWS)
        return self.buffer


@pytest.fixture
def table() -> Table:
    return Table()


def test_rows_are_legal_and_of_one_version_and_their_positions_stay_on_the_device(table: Table) -> None:
    rows, played = table.collect(version=7).rows, table.buffer.played
    assert set(rows.version.tolist()) == {7}
    assert rows.learner.all()
    bits = legal_mask_bits(rows.record, action_count(table.config.env.actions))
    assert (bits[np.arange(ROWS), rows.action // 8] >> (rows.action % 8) & 1).all()
    assert played is not None
    assert np.array_equal(played.record.flatten(0, 1).numpy(), rows.record)
    assert np.array_equal(played.legal.flatten(0, 1).numpy(), bits)


def test_rows_tell_what_the_network_thought(table: Table) -> None:
    rows = table.collect().rows
    evaluation = table.agent.inference.evaluate(rows.record)
    chosen = evaluation.log_probs.gather(1, torch.from_numpy(rows.action.astype(np.int64))[:, None]).squeeze(
        1
    )
    np.testing.assert_allclose(rows.log_prob, chosen.numpy(), atol=1e-5)
    np.testing.assert_allclose(rows.value, evaluation.value.numpy(), atol=1e-5)


def test_no_two_games_have_the_same_number(table: Table) -> None:
    games = table.collect().rows.game.reshape(table.config.training.rollout_plies, -1)
    own, other = np.array_split(games, HALVES, axis=1)
    assert not np.intersect1d(own, other).size


def test_the_learner_learns_from_what_was_played_there(table: Table) -> None:
    buffer = table.collect()
    buffer.compute_targets(gamma=0.99, lam=0.9)
    metrics = table.agent.learn(buffer, 0.0)
    assert metrics["gradient_steps"] > 0
    assert metrics["first_ratio_deviation"] < 1e-4


def test_which_thread_is_faster_changes_nothing() -> None:
    one, same = Table(), Table()
    for version in (1, 2, 3):
        rows, others = one.collect(version).rows.arrays(), same.collect(version).rows.arrays()
        assert all(np.array_equal(rows[name], others[name]) for name in rows)


def test_a_stopped_rollout_leaves_no_rows_and_play_goes_on(table: Table) -> None:
    assert len(table.collect(stop=True)) == 0
    assert len(table.collect()) == ROWS


def test_what_was_saved_while_the_learner_learned_goes_on_exactly(table: Table) -> None:
    table.collect()
    table.collector.meanwhile()
    state = table.collector.state()
    expected = {name: array.copy() for name, array in table.collect(2).rows.arrays().items()}
    fresh = Table()
    fresh.collector.load_state(state)
    found = fresh.collect(2).rows.arrays()
    assert all(np.array_equal(expected[name], found[name]) for name in expected)
    assert state is not table.collector.state(), "a ply later the saved state is no longer the state"


def test_the_games_of_another_kind_of_run_are_left_alone(
    table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    table.collector.load_state({"0": {}})
    assert "the games of 1 players, this run has 2" in caplog.text
    assert len(table.collect()) == ROWS


@pytest.mark.parametrize(
    ("changes", "can"),
    [
        ({"training__opponents__share": 0}, True),
        ({"training__opponents__share": 0.5}, False),
        (
            {
                "training__opponents__share": 0,
                "training__opponents__anchor_share": 0.5,
                "training__opponents__anchors": ["greedy"],
            },
            False,
        ),
        ({"training__opponents__share": 0, "env__num_games": 1, "training__minibatch_size": 1}, False),
    ],
)
def test_only_games_of_the_learner_against_itself_are_captured(changes: dict[str, object], can: bool) -> None:
    assert DeviceCollector.can_play(tiny_config(1, **changes)) is can
