"""Blocks: shapes, signal scales and what each one can see."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from keisei.core.blocks import (
    CHANNEL_GROUP,
    AlignedConvolution,
    ChannelGate,
    GatedFeatures,
    GatedResidualBlock,
    PoolingBlock,
    ResidualBlock,
    convolution,
)

CHANNELS = 32
KINDS = ("plain", "gated", "pooling")


def block(kind: str, depth: int) -> nn.Module:
    match kind:
        case "plain":
            return ResidualBlock(CHANNELS, depth)
        case "gated":
            return GatedResidualBlock(CHANNELS, depth, 4)
    return PoolingBlock(CHANNELS, depth)


class ConvolvedChannels(TorchDispatchMode):
    """Notes how many channels convolutions read and write."""

    def __init__(self) -> None:
        super().__init__()
        self.channels: list[int] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        answer = func(*args, **(kwargs or {}))
        if func is torch.ops.aten.convolution.default:
            self.channels += [args[0].shape[1], answer.shape[1]]
        return answer


def features(batch: int = 16) -> Tensor:
    return torch.randn(batch, CHANNELS, 9, 9, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize(("inputs", "outputs", "size"), [(46, 16, 3), (16, 27, 1), (16, 16, 3), (5, 3, 1)])
def test_whole_groups_of_channels_give_the_same_answer_and_gradients(
    inputs: int, outputs: int, size: int
) -> None:
    layer = convolution(inputs, outputs, size=size, gain=1.0)
    assert isinstance(layer, AlignedConvolution)
    nn.init.normal_(layer.bias)  # type: ignore[arg-type]  # it has one
    planes = torch.randn(4, inputs, 9, 9)
    found, expected = layer.aligned(planes), layer(planes)
    torch.testing.assert_close(found, expected)
    gradients = [
        torch.autograd.grad(answer.square().sum(), list(layer.parameters())) for answer in (found, expected)
    ]
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
    with ConvolvedChannels() as watch:
        layer.aligned(planes)
    assert watch.channels
    assert all(count % CHANNEL_GROUP == 0 for count in watch.channels)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("depth", [1, 4, 40])
def test_a_tower_of_any_depth_keeps_the_scale(kind: str, depth: int) -> None:
    torch.manual_seed(0)
    tower = nn.Sequential(*(block(kind, depth) for _ in range(depth)))
    with torch.no_grad():
        moment = tower(features()).square().mean().item()
    assert 1 < moment < 5


@pytest.mark.parametrize("kind", KINDS)
def test_a_deep_tower_keeps_the_scale_of_gradients(kind: str) -> None:
    torch.manual_seed(0)
    tower = nn.Sequential(*(block(kind, 30) for _ in range(30)))
    inputs = features().requires_grad_()
    outputs = tower(inputs)
    direction = torch.randn(outputs.shape, generator=torch.Generator().manual_seed(2))
    (outputs * direction).sum().backward()
    assert inputs.grad is not None
    assert 0.5 < inputs.grad.square().mean().item() < 6


def changed_squares(module: nn.Module) -> int:
    """On how many squares the answer changes when one corner of the input does."""
    torch.manual_seed(3)
    before = features(1)
    after = before.clone()
    after[:, :, 0, 0] += 3
    with torch.no_grad():
        return int(((module(after) - module(before)).abs().amax(1) > 1e-6).sum())


def test_a_plain_block_sees_two_squares_far() -> None:
    torch.manual_seed(0)
    assert changed_squares(block("plain", 2)) == 3 * 3


@pytest.mark.parametrize("kind", ["gated", "pooling"])
def test_a_gated_or_pooling_block_sees_the_whole_board(kind: str) -> None:
    torch.manual_seed(0)
    assert changed_squares(block(kind, 2)) == 81


def test_a_gate_is_squeeze_excitation() -> None:
    torch.manual_seed(0)
    gate, inputs = ChannelGate(CHANNELS, 4), features(3)
    assert gate.squeeze.out_features == CHANNELS // 4
    means = torch.stack([inputs[:, channel].flatten(1).mean(1) for channel in range(CHANNELS)], 1)
    factors = 2 / (1 + torch.exp(-gate.excite(gate.squeeze(means).clamp(min=0))))
    torch.testing.assert_close(gate(inputs)[:, :, 0, 0], factors)
    gated = GatedFeatures(CHANNELS, 4)
    gated.gate = gate
    torch.testing.assert_close(gated(inputs), inputs * factors[:, :, None, None])


def test_a_pooling_block_adds_mean_and_maximum() -> None:
    torch.manual_seed(0)
    module, inputs = PoolingBlock(CHANNELS, 1), features(3)
    first = module.first(inputs.clamp(min=0))
    pooled, local = first[:, : CHANNELS // 4].clamp(min=0), first[:, CHANNELS // 4 :]
    summary = torch.cat((pooled.flatten(2).mean(2), pooled.flatten(2).max(2).values), 1)
    mixed = local + module.mix(summary)[:, :, None, None]
    torch.testing.assert_close(module(inputs), inputs + module.second(mixed.clamp(min=0)))


def test_a_convolution_starts_at_its_gain() -> None:
    torch.manual_seed(0)
    layer = convolution(64, 64, size=3, gain=1.5)
    assert layer.weight.std().item() == pytest.approx(1.5 / (64 * 9) ** 0.5, rel=0.02)
    assert layer.bias is not None and not layer.bias.any()
