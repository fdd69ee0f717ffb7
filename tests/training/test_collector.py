"""Collection in the trainer's own process: a rollout of the newest weights, against the pool unless it is empty."""

import logging

import numpy as np
import pytest
import torch
from tiny_runs import ROWS, tiny_config

from keisei.core.experience_buffer import ExperienceBuffer
from keisei.core.ppo_agent import PPOAgent
from keisei.evaluation.opponent_pool import OpponentPool
from keisei.training.collector import InProcessCollector


class Table:
    """A collector with its agent and pool."""

    def __init__(self, seed: int = 1, **changes: object) -> None:
        config = tiny_config(1, training__seed=seed, **changes)
        self.agent = PPOAgent(config, torch.device("cpu"))
        self.pool = OpponentPool(4, seed)
        self.collector = InProcessCollector(config, self.agent, self.pool)

    def collect(self, version: int = 1, *, stop: bool = False) -> ExperienceBuffer:
        buffer = ExperienceBuffer(ROWS)
        summary = self.collector.collect(buffer, version=version, should_stop=lambda: stop)
        assert summary.stopped == stop
        return buffer


def test_a_rollout_fills_the_buffer_with_rows_of_one_version() -> None:
    buffer = Table().collect(version=7)
    assert len(buffer) == ROWS
    assert set(buffer.rows.version.tolist()) == {7}


def test_a_stopped_rollout_leaves_no_rows() -> None:
    assert len(Table().collect(stop=True)) == 0


def test_an_empty_pool_means_that_the_learner_plays_alone() -> None:
    assert Table(training__opponents__share=1).collect().rows.learner.all()


def test_the_opponent_plays_with_the_weights_of_a_snapshot() -> None:
    table, frozen = Table(training__opponents__share=1), Table(seed=2)
    table.pool.add(1, frozen.agent.network.state_dict())
    rows = table.collect().rows
    for player, plies in ((table, rows.learner), (frozen, ~rows.learner)):
        values = player.agent.inference.values(rows.record[plies])
        assert np.abs(values - rows.value[plies]).max() < 1e-6
    assert 0 < rows.learner.sum() < ROWS


def test_games_of_another_number_of_players_are_begun_anew_and_that_is_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    table = Table()
    state = table.collector.state()
    (games,) = state.values()
    with caplog.at_level(logging.WARNING):
        table.collector.load_state({"0": games, "1": games})
    assert "the games of 2 players" in caplog.text
    assert len(table.collect()) == ROWS


def test_a_watched_game_is_one_of_those_that_are_played() -> None:
    table = Table()
    before = table.collector.watched_game().ply
    table.collect()
    assert table.collector.watched_game().ply != before
    assert table.collector.status() == {}
    table.collector.close()
