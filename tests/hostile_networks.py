"""Architectures by import path, as third parties bring them."""

from typing import TYPE_CHECKING

import torch

from keisei.core.networks import ActorCritic, NetworkOutput, build_cnn

if TYPE_CHECKING:
    from keisei.config_schema import ModelConfig

LEARNS_NOTHING_FINITE = "hostile_networks:learns_nothing_finite"
NEEDS_MORE_AND_MORE = "hostile_networks:needs_more_and_more"
#: Calls with gradients that `NeedsMoreAndMore` has memory for.
CALLS_WITH_ROOM = 5


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


class NeedsMoreAndMore(ActorCritic):
    """Learns like any network for a while, and then finds no memory on its device."""

    def __init__(self, network: ActorCritic) -> None:
        super().__init__(network.num_actions)
        self.network = network
        self._calls = 0

    def forward(self, planes: torch.Tensor, with_auxiliary: bool = True) -> NetworkOutput:
        self._calls += torch.is_grad_enabled()
        if self._calls > CALLS_WITH_ROOM:
            raise torch.OutOfMemoryError(
                "CUDA out of memory. Tried to allocate 20.00 GiB.\nMore advice follows"
            )
        return self.network(planes, with_auxiliary)


def needs_more_and_more(model: "ModelConfig", num_actions: int) -> ActorCritic:
    return NeedsMoreAndMore(build_cnn(model, num_actions))


def learns_nothing_finite(model: "ModelConfig", num_actions: int) -> ActorCritic:
    return NotFiniteInLearning(build_cnn(model, num_actions))


def same_layers(model: "ModelConfig", num_actions: int) -> ActorCritic:
    """Keisei's own layers under another name."""
    return build_cnn(model, num_actions)
