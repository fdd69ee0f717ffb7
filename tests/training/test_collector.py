"""Collection in the trainer's own process: a rollout of the newest weights, against the pool unless it is empty."""

import logging
import sys
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch
from process_watch import children_with
from tiny_runs import ROWS, tiny_config

from keisei.core.experience_buffer import ExperienceBuffer
from keisei.core.ppo_agent import PPOAgent
from keisei.core.rollout import FinishedGame, RolloutSummary
from keisei.errors import ConfigError
from keisei.evaluation.opponent_pool import OpponentPool
from keisei.training.collector import InProcessCollector, credit

TOY_ENGINE = Path(__file__).parents[1] / "toy_usi_engine.py"


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


def toy_engines() -> list[psutil.Process]:
    return children_with(TOY_ENGINE.name)


def test_anchors_and_engines_play_their_part_and_end_with_the_collector() -> None:
    table = Table(
        training__opponents__share=0,
        training__opponents__anchor_share=1,
        training__opponents__anchors=["greedy", f"usi:{sys.executable} {TOY_ENGINE}?nodes=1"],
    )
    assert toy_engines()
    rows = table.collect().rows
    assert rows.learner.mean() == pytest.approx(0.5, abs=0.1), "one colour of every game"
    assert not rows.value[~rows.learner].any()
    table.collector.close()
    assert not toy_engines()


def test_an_anchor_that_nobody_knows_is_refused_before_anything_is_played() -> None:
    with pytest.raises(ConfigError, match="unknown player 'gredy'; did you mean 'greedy'"):
        Table(training__opponents__anchor_share=0.5, training__opponents__anchors=["gredy"])


def test_results_are_credited_to_the_version_that_played_the_whole_game() -> None:
    pool = OpponentPool(4, 1, "rating")
    for version in (3, 5):
        pool.add(version, {})
    games = [
        FinishedGame("black", "checkmate", 40, "frozen", 1.0, 3),
        FinishedGame("black", "checkmate", 40, "frozen", 1.0, 0),
        FinishedGame("black", "checkmate", 40, "greedy", 1.0, 0),
        FinishedGame("black", "checkmate", 40),
    ]
    credit(pool, RolloutSummary(finished=games))
    assert set(pool.state()["tallies"]) == {3}


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


def test_another_number_of_games_is_begun_anew_and_that_is_said(caplog: pytest.LogCaptureFixture) -> None:
    table = Table()
    ((player, saved),) = table.collector.state().items()
    fewer = {name: array[:1] for name, array in saved["games"].items()}
    with caplog.at_level(logging.WARNING):
        table.collector.load_state({player: {**saved, "games": fewer}})
    assert "the checkpoint holds 1 games" in caplog.text
    assert len(table.collect()) == ROWS


def test_a_watched_game_is_one_of_those_that_are_played() -> None:
    table = Table()
    before = table.collector.watched_game().ply
    table.collect()
    assert table.collector.watched_game().ply != before
    assert table.collector.status() == {}
    table.collector.close()
