"""The network of an earlier version beside the learner's."""

import numpy as np
import pytest
import torch
from tiny_runs import tiny_config

from keisei.core.ppo_agent import PPOAgent
from keisei.evaluation.opponent_pool import OpponentPool, Snapshot
from keisei.training.environments import make_env
from keisei.training.frozen_network import FrozenNetwork, places_for


def agent(seed: int) -> PPOAgent:
    return PPOAgent(tiny_config(1, training__seed=seed), torch.device("cpu"))


def snapshot(learner: PPOAgent) -> Snapshot:
    pool = OpponentPool(1, 1)
    pool.add(1, learner.network.state_dict())
    return pool.snapshots[0]


def records() -> np.ndarray:
    return make_env(tiny_config(1), num_games=4, seed=1, num_threads=1).records


def test_it_thinks_with_the_weights_of_the_newest_snapshot_and_the_learner_with_its_own() -> None:
    learner = agent(1)
    frozen, before = FrozenNetwork(learner, "fp32"), learner.inference.values(records())
    assert np.array_equal(frozen.inference.values(records()), before), "as fresh as the learner"
    for other in (agent(2), agent(3)):
        frozen.become(snapshot(other))
        assert np.array_equal(frozen.inference.values(records()), other.inference.values(records()))
    assert np.array_equal(learner.inference.values(records()), before)


def test_weights_stay_where_a_captured_graph_reads_them_and_have_no_gradients() -> None:
    frozen = FrozenNetwork(agent(1), "fp32")
    places = [weight.data_ptr() for weight in frozen.inference.network.parameters()]
    frozen.become(snapshot(agent(2)))
    assert places == [weight.data_ptr() for weight in frozen.inference.network.parameters()]
    assert not any(weight.requires_grad for weight in frozen.inference.network.parameters())


def test_a_snapshot_that_is_there_already_is_not_copied_again() -> None:
    frozen, first = FrozenNetwork(agent(1), "fp32"), snapshot(agent(2))
    frozen.become(first)
    weight = next(frozen.inference.network.parameters())
    weight.zero_()
    frozen.become(first)
    assert not weight.any()
    # Another one is, even with the same number: a run that went back plays its versions anew.
    frozen.become(snapshot(agent(2)))
    assert weight.any()


@pytest.mark.parametrize(
    ("share", "games", "places"),
    [(0.25, 2048, 512), (0.01, 2048, 64), (0.26, 2048, 576), (1.0, 2048, 2048), (0.5, 40, 40), (1.0, 1, 1)],
)
def test_there_is_room_for_all_games_of_the_opponent_in_steps(share: float, games: int, places: int) -> None:
    assert places_for(share, games) == places
