"""Architectures by import path, as third parties bring them."""

from typing import TYPE_CHECKING

import torch

from keisei.core.networks import ActorCritic, NetworkOutput, build_cnn

if TYPE_CHECKING:
    from keisei.config_schema import ModelConfig

LEARNS_NOTHING_FINITE = "hostile_networks:learns_nothing_finite"


class NotFiniteInLearning(ActorCritic):
    """Plays like any network, but as soon as gradients are asked for its values are no numbers."""

    def __init__(self, network: ActorCritic) -> None:
        super().__init__(network.num_actions)
        self.network = network

    def forward(self, planes: torch.Tensor, with_auxiliary: bool = True) -> NetworkOutput:
        output = self.network(planes, with_auxiliary)
        if not torch.is_grad_enabled():
            return output
        return output._replace(value_logits=output.value_logits * float("nan"))


def learns_nothing_finite(model: "ModelConfig", num_actions: int) -> ActorCritic:
    return NotFiniteInLearning(build_cnn(model, num_actions))


def same_layers(model: "ModelConfig", num_actions: int) -> ActorCritic:
    """Keisei's own layers under another name."""
    return build_cnn(model, num_actions)
