"""The parts of a tower: convolutions with chosen initial scales, residual, gated and pooling blocks.

No layer here normalises. BatchNorm answers differently in play and in learning, so that the policy that
learns is not the policy that played; LayerNorm and GroupNorm agree but cost several memory-bound kernels per
block. Without them the initial scales have to keep the signal in range, and they do:

- a convolution with gain ``sqrt(2)`` behind a ReLU keeps the second moment (He et al. 2015);
- the last convolution of each of L residual branches starts smaller by ``1 / sqrt(L)``, so each branch adds
  1/L of the moment and the tower ends at ``(1 + 1/L)^L < e`` times its input, however deep it is.

The scale sits in the initial weights (the idea of Fixup, Zhang et al. 2019), so that it costs nothing at run
time; unlike Fixup's zeros it lets a gradient reach every weight from the first step.

All feature maps are ``[B, C, 9, 9]`` in the mover's view, in the dtype of the network's arithmetic.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

RELU_GAIN = math.sqrt(2)
# Numbers in half precision that fill 16 bytes.
CHANNEL_GROUP = 8
# One channel in so many of a pooling block is read by the pool (KataGo's networks use a quarter to a third).
CHANNELS_PER_POOLED = 4
# What the pool says starts as a small correction of the local features.
POOL_GAIN = 0.2


class AlignedConvolution(nn.Conv2d):
    """A convolution that a GPU computes with whole `CHANNEL_GROUP`s of channels, the missing ones being zero.

    Tensor cores read squares of 16 bytes each. Channels that do not fill them would be copied to where they do by the
    library, at every call, and some gradients would be left to kernels of an older kind.
    """

    def forward(self, features: Tensor) -> Tensor:
        """``[B, inputs, 9, 9]`` -> ``[B, outputs, 9, 9]``."""
        return self.aligned(features) if features.is_cuda else super().forward(features)

    def aligned(self, features: Tensor) -> Tensor:
        """The same answer with whole groups of channels."""
        more_inputs, more_outputs = -self.in_channels % CHANNEL_GROUP, -self.out_channels % CHANNEL_GROUP
        if not more_inputs and not more_outputs:
            return super().forward(features)
        features = F.pad(features, (0, 0, 0, 0, 0, more_inputs))
        weight = F.pad(self.weight, (0, 0, 0, 0, 0, more_inputs, 0, more_outputs))
        bias = None if self.bias is None else F.pad(self.bias, (0, more_outputs))
        return F.conv2d(features, weight, bias, padding=self.padding)[:, : self.out_channels]


def convolution(inputs: int, outputs: int, *, size: int, gain: float) -> nn.Conv2d:
    """A convolution that keeps the board, with weights N(0, gain² / fan-in) and no initial bias."""
    layer = AlignedConvolution(inputs, outputs, size, padding=size // 2)
    _initialise(layer, fan_in=inputs * size * size, gain=gain)
    return layer


def fully_connected(inputs: int, outputs: int, *, gain: float) -> nn.Linear:
    """A fully connected layer with weights N(0, gain² / inputs) and no initial bias."""
    layer = nn.Linear(inputs, outputs)
    _initialise(layer, fan_in=inputs, gain=gain)
    return layer


def _initialise(layer: nn.Conv2d | nn.Linear, *, fan_in: int, gain: float) -> None:
    nn.init.normal_(layer.weight, std=gain / math.sqrt(fan_in))
    nn.init.zeros_(layer.bias)  # type: ignore[arg-type]  # both kinds of layer are built with a bias


class ChannelGate(nn.Module):
    """Squeeze-excitation: one factor in 0..2 per channel, decided by the board means of all channels.

    Twice a sigmoid, so that a gate begins near 1 and leaves the initial scales alone.
    """

    def __init__(self, channels: int, se_ratio: int) -> None:
        super().__init__()
        squeezed = channels // se_ratio
        self.squeeze = fully_connected(channels, squeezed, gain=RELU_GAIN)
        self.excite = fully_connected(squeezed, channels, gain=1.0)

    def forward(self, features: Tensor) -> Tensor:
        """``[B, C, 9, 9]`` -> the factors ``[B, C, 1, 1]``."""
        squeezed = F.relu(self.squeeze(features.mean((2, 3))))
        return 2 * torch.sigmoid(self.excite(squeezed))[:, :, None, None]


class GatedFeatures(nn.Module):
    """Features weighted channel by channel."""

    def __init__(self, channels: int, se_ratio: int) -> None:
        super().__init__()
        self.gate = ChannelGate(channels, se_ratio)

    def forward(self, features: Tensor) -> Tensor:
        """``[B, C, 9, 9]`` -> ``[B, C, 9, 9]``."""
        factors: Tensor = self.gate(features)
        return features * factors


class ResidualBlock(nn.Module):
    """``x + branch(x)`` with two 3×3 convolutions, each behind its ReLU; the skip path stays linear."""

    def __init__(self, channels: int, depth: int) -> None:
        super().__init__()
        self.first = convolution(channels, channels, size=3, gain=RELU_GAIN)
        self.second = convolution(channels, channels, size=3, gain=RELU_GAIN / math.sqrt(depth))

    def forward(self, features: Tensor) -> Tensor:
        """``[B, C, 9, 9]`` -> ``[B, C, 9, 9]``."""
        branch: Tensor = self.second(F.relu(self.first(F.relu(features))))
        return features + branch


class GatedResidualBlock(nn.Module):
    """A residual block whose branch is weighted channel by channel (squeeze-excitation)."""

    def __init__(self, channels: int, depth: int, se_ratio: int) -> None:
        super().__init__()
        self.first = convolution(channels, channels, size=3, gain=RELU_GAIN)
        self.second = convolution(channels, channels, size=3, gain=RELU_GAIN / math.sqrt(depth))
        self.gate = ChannelGate(channels, se_ratio)

    def forward(self, features: Tensor) -> Tensor:
        """``[B, C, 9, 9]`` -> ``[B, C, 9, 9]``."""
        branch = self.second(F.relu(self.first(F.relu(features))))
        return torch.addcmul(features, branch, self.gate(branch))


class PoolingBlock(nn.Module):
    """A residual block in which a few channels speak for the whole board.

    The mean and the maximum of the pooled channels over the 81 squares are mixed into one offset per
    remaining channel: what is true anywhere (a piece in hand, a king in the open) becomes known everywhere
    within one block.
    """

    def __init__(self, channels: int, depth: int) -> None:
        super().__init__()
        pooled = channels // CHANNELS_PER_POOLED
        self.split = (pooled, channels - pooled)
        self.first = convolution(channels, channels, size=3, gain=RELU_GAIN)
        self.mix = fully_connected(2 * pooled, channels - pooled, gain=POOL_GAIN)
        self.second = convolution(channels - pooled, channels, size=3, gain=RELU_GAIN / math.sqrt(depth))

    def forward(self, features: Tensor) -> Tensor:
        """``[B, C, 9, 9]`` -> ``[B, C, 9, 9]``."""
        pooled, local = self.first(F.relu(features)).split(self.split, dim=1)
        pooled = F.relu(pooled)
        summary = torch.cat((pooled.mean((2, 3)), pooled.amax((2, 3))), dim=1)
        offset = self.mix(summary)[:, :, None, None]
        branch: Tensor = self.second(F.relu(local + offset))
        return features + branch
