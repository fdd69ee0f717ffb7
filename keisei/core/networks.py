"""The networks: what every policy-and-value network answers, and the three that come with Keisei.

``cnn`` is a plain stack of convolutions, ``resnet`` a residual tower (with squeeze-excitation where
``se_ratio`` is above 0), ``resnet_gpool`` a residual tower in which every second block pools over the whole
board. All of them compute the same function in ``train()`` and ``eval()`` (see ``blocks``), prefer
``channels_last`` memory, and share their heads.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from keisei.core.blocks import (
    RELU_GAIN,
    GatedFeatures,
    GatedResidualBlock,
    PoolingBlock,
    ResidualBlock,
    convolution,
    fully_connected,
)
from keisei.core.heads import OUTPUT_GAIN, POLICY_HEADS, AuxiliaryHeads, PositionSummary
from keisei.shogi import PLANES

if TYPE_CHECKING:
    from keisei.config_schema import ModelConfig

OBSERVATION_PLANES = PLANES
BOARD_SIZE = 9
OUTCOMES = 3
WIN, DRAW, LOSS = range(OUTCOMES)

# About 10 of the 414 inputs under a 3×3 window are not zero (a piece on every other square, a constant plane
# in every other position): weights for 414 busy inputs would start the tower at a sixth of its scale.
BUSY_INPUTS = 10
STEM_SIZE = 3


class NetworkOutput(NamedTuple):
    """What a network says about B positions, in the dtype of its arithmetic.

    policy_logits ``[B, A]``: actions of the mover, unmasked.
    value_logits ``[B, 3]``: win, draw, loss of the mover.
    auxiliary: empty, or three predictions (units: ``auxiliary_targets``): ``material`` ``[B]`` in the mover's
    view, ``moves_left`` ``[B]``, and ``reply`` ``[B, A]``, logits of the opponent's next action in the
    opponent's view.
    """

    policy_logits: Tensor
    value_logits: Tensor
    auxiliary: dict[str, Tensor]

    @property
    def value(self) -> Tensor:
        """``[B]`` float32 in -1..1, mover's view: P(win) - P(loss)."""
        outcome = self.value_logits.float().softmax(dim=1)
        return outcome[:, WIN] - outcome[:, LOSS]


class ActorCritic(nn.Module):
    """A network with a policy and a value; third parties derive theirs from it or from TowerActorCritic."""

    def __init__(self, num_actions: int) -> None:
        super().__init__()
        self.num_actions = num_actions

    def forward(self, planes: Tensor, with_auxiliary: bool = True) -> NetworkOutput:
        """Answer for ``planes``, floating point ``[B, 46, 9, 9]`` in the mover's view.

        Play passes ``with_auxiliary=False``: same policy and value, and the rest is not computed.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define forward(planes, with_auxiliary)")

    if TYPE_CHECKING:  # nn.Module.__call__ is typed Any

        def __call__(self, planes: Tensor, with_auxiliary: bool = True) -> NetworkOutput: ...


class TowerActorCritic(ActorCritic):
    """The heads of Keisei on any tower that maps ``[B, 46, 9, 9]`` to ``[B, channels, 9, 9]``."""

    def __init__(self, tower: nn.Module, channels: int, num_actions: int, *, auxiliary_heads: bool) -> None:
        super().__init__(num_actions)
        self.tower = tower
        self.policy = POLICY_HEADS[num_actions](channels)
        self.summary = PositionSummary(channels)
        self.value = fully_connected(self.summary.width, OUTCOMES, gain=OUTPUT_GAIN)
        self.auxiliary = (
            AuxiliaryHeads(channels, num_actions, self.summary.width) if auxiliary_heads else None
        )

    def forward(self, planes: Tensor, with_auxiliary: bool = True) -> NetworkOutput:
        """Answer for ``planes``, floating point ``[B, 46, 9, 9]`` in the mover's view."""
        # Convolutions keep this layout to the end; any other is reordered around each of them.
        features = F.relu(self.tower(planes.contiguous(memory_format=torch.channels_last)))
        summary = self.summary(features)
        wanted = self.auxiliary if with_auxiliary else None
        auxiliary = {} if wanted is None else wanted(features, summary)
        return NetworkOutput(self.policy(features), self.value(summary), auxiliary)


def build_cnn(model: ModelConfig, num_actions: int) -> ActorCritic:
    """``blocks`` convolutions in a row; with ``se_ratio`` one gate at the end, which sees the whole board."""
    layers: list[nn.Module] = [_stem(model.channels)]
    for _ in range(1, model.blocks):
        layers += [nn.ReLU(), convolution(model.channels, model.channels, size=3, gain=RELU_GAIN)]
    if model.se_ratio > 0:
        layers.append(GatedFeatures(model.channels, model.se_ratio))
    return _with_heads(nn.Sequential(*layers), model, num_actions)


def build_resnet(model: ModelConfig, num_actions: int) -> ActorCritic:
    """``blocks`` residual blocks, each gated where ``se_ratio`` is above 0."""
    blocks = (_residual_block(model) for _ in range(model.blocks))
    return _with_heads(nn.Sequential(_stem(model.channels), *blocks), model, num_actions)


def build_resnet_gpool(model: ModelConfig, num_actions: int) -> ActorCritic:
    """A residual tower whose last block, and every second one before it, pools over the board."""
    blocks = [
        PoolingBlock(model.channels, model.blocks) if above % 2 == 0 else _residual_block(model)
        for above in reversed(range(model.blocks))
    ]
    return _with_heads(nn.Sequential(_stem(model.channels), *blocks), model, num_actions)


def _stem(channels: int) -> nn.Conv2d:
    inputs = OBSERVATION_PLANES * STEM_SIZE**2
    return convolution(OBSERVATION_PLANES, channels, size=STEM_SIZE, gain=math.sqrt(inputs / BUSY_INPUTS))


def _residual_block(model: ModelConfig) -> nn.Module:
    if model.se_ratio > 0:
        return GatedResidualBlock(model.channels, model.blocks, model.se_ratio)
    return ResidualBlock(model.channels, model.blocks)


def _with_heads(tower: nn.Module, model: ModelConfig, num_actions: int) -> ActorCritic:
    return TowerActorCritic(tower, model.channels, num_actions, auxiliary_heads=model.auxiliary_heads)
