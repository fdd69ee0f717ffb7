"""A gradient step as a GPU takes it: whether it is taken is decided on the device, and nobody waits to know."""

import copy
from dataclasses import replace
from typing import Any

import pytest
import torch
from agents import agent, are_equal, played_buffer, weights
from card_rules import NothingFromTheHost
from torch import Tensor

from keisei.core.device_positions import PositionTables
from keisei.core.device_rows import DeviceRows, Uploader, device_loss
from keisei.core.device_targets import TargetMaker
from keisei.core.gradient_step import GradientStep, new_optimizer, set_learning_rate
from keisei.core.ppo_agent import PPOAgent
from keisei.core.rank_place import RankPlace
from keisei.core.ranks import ALONE, Ranks

CPU = torch.device("cpu")
NO_SCALER = torch.amp.GradScaler("cpu", enabled=False)


class Learner:
    """An agent on the CPU whose steps are taken as on a card: by a fused optimiser, with the learning rate there."""

    def __init__(self, **changes: object) -> None:
        self.agent = agent(weight_averaging=0.5, **changes)
        self.rate = torch.full((), 1e-3)
        self.optimizer = torch.optim.Adam(self.agent.network.parameters(), lr=self.rate, fused=True)
        self.step = step_of(self.agent, self.optimizer)
        make_targets = TargetMaker(PositionTables.on(CPU), ALONE.add_up, is_alone=True)
        buffer = played_buffer(self.agent)
        self.rows = DeviceRows.upload(buffer, Uploader(CPU), self.agent.num_actions, 1, make_targets)

    def loss(self, rows: DeviceRows) -> tuple[Tensor, dict[str, Tensor]]:
        return device_loss(self.agent.inference, rows, self.agent.loss_weights(0.0))

    def averaged(self) -> dict[str, Tensor]:
        assert self.agent.averaged is not None
        return {name: tensor.clone() for name, tensor in self.agent.averaged.state_dict().items()}


def step_of(player: PPOAgent, optimizer: torch.optim.Adam, **changes: Any) -> GradientStep:
    parts = {"scaler": NO_SCALER, "ranks": ALONE, **changes}
    return GradientStep(player.network, player.averaged, optimizer, training=player._training, **parts)


def test_steps_are_those_of_the_ordinary_optimiser() -> None:
    learner, plain = Learner(), agent(weight_averaging=0.5)
    set_learning_rate(plain.optimizer, 1e-3)
    for group in learner.optimizer.param_groups:
        group["eps"], group["betas"] = (plain.optimizer.defaults[name] for name in ("eps", "betas"))
    launched = step_of(plain, plain.optimizer)
    for _ in range(3):
        found = learner.step(*learner.loss(learner.rows))
        expected = launched(*device_loss(plain.inference, learner.rows, plain.loss_weights(0.0)))
        torch.testing.assert_close(found, expected)
    assert learner.step.names == launched.names
    assert plain.averaged is not None
    for ours, theirs in ((learner.agent.network, plain.network), (learner.agent.averaged, plain.averaged)):
        assert ours is not None
        for name, tensor in ours.state_dict().items():
            torch.testing.assert_close(tensor, theirs.state_dict()[name])


def test_a_step_can_be_captured() -> None:
    learner = Learner()
    learner.step(*learner.loss(learner.rows))  # the optimiser makes its moments at its first step
    rows, averaged = learner.rows, learner.agent.averaged
    assert averaged is not None
    loss_weights = replace(learner.agent.loss_weights(0.0), entropy=torch.full((), 0.01))
    given = (
        rows,
        learner.agent.inference.tables,
        list(learner.agent.network.parameters()),
        list(averaged.parameters()),
        learner.optimizer.state_dict()["state"],
        (learner.rate, loss_weights.entropy),
    )
    with NothingFromTheHost(given) as watch:
        learner.step(*device_loss(learner.agent.inference, rows, loss_weights))
    assert watch.operations > 0


def test_a_step_that_is_not_finite_is_skipped_where_the_optimiser_is() -> None:
    learner = Learner()
    learner.step(*learner.loss(learner.rows))
    before, averaged = weights(learner.agent), learner.averaged()
    assert not are_equal(before, averaged), "there is something to move"
    moments = copy.deepcopy(learner.optimizer.state_dict()["state"])
    poisoned = learner.rows._replace(value=torch.full_like(learner.rows.value, torch.nan))
    *_, taken = learner.step(*learner.loss(poisoned)).tolist()
    assert taken == 0
    assert are_equal(before, weights(learner.agent))
    assert are_equal(averaged, learner.averaged())
    for number, state in learner.optimizer.state_dict()["state"].items():
        assert are_equal(moments[number], state)
    *_, taken = learner.step(*learner.loss(learner.rows)).tolist()
    assert taken == 1


def test_the_learning_rate_is_changed_where_it_lies() -> None:
    learner, plain = Learner(), new_optimizer(agent().network, CPU)
    set_learning_rate(learner.optimizer, 0.25)
    set_learning_rate(plain, 0.25)
    assert learner.optimizer.param_groups[0]["lr"] is learner.rate
    assert learner.rate.item() == plain.param_groups[0]["lr"] == 0.25


@pytest.mark.parametrize(
    "changes",
    [
        {"scaler": torch.amp.GradScaler("cpu", enabled=True)},
        {"ranks": Ranks(RankPlace(rank=0, count=2, local_rank=0, local_count=2))},
    ],
)
def test_a_step_that_asks_the_host_or_other_ranks_is_not_captured(changes: dict[str, object]) -> None:
    learner = Learner()
    assert learner.step.can_be_captured
    assert not step_of(learner.agent, learner.optimizer, **changes).can_be_captured
    assert not step_of(learner.agent, learner.agent.optimizer).can_be_captured, "an optimiser of the CPU"
