"""An optimiser goes on from a checkpoint of another device."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor, nn

from keisei.core.optimizer_state import load_optimizer_state, optimizer_state


def learner(memory_format: torch.memory_format, *, fused: bool) -> tuple[nn.Module, torch.optim.Adam]:
    torch.manual_seed(1)
    network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(4, 2))
    network = network.to(memory_format=memory_format)  # type: ignore[call-overload]  # missing in torch
    return network, torch.optim.Adam(network.parameters(), lr=0.1, fused=fused)


def step(network: nn.Module, optimizer: torch.optim.Adam, seed: int) -> None:
    planes = torch.rand((5, 3, 3, 3), generator=torch.Generator().manual_seed(seed))
    optimizer.zero_grad()
    network(planes).square().sum().backward()
    optimizer.step()


def weights(network: nn.Module) -> list[Tensor]:
    return [weight.detach().clone() for weight in network.parameters()]


@pytest.mark.parametrize("written_fused", [False, True])
@pytest.mark.parametrize("fused", [False, True])
def test_goes_on_in_its_own_order_of_memory(written_fused: bool, fused: bool) -> None:
    writer, writer_optimizer = learner(torch.contiguous_format, fused=written_fused)
    step(writer, writer_optimizer, 1)
    reader, reader_optimizer = learner(torch.channels_last, fused=fused)
    reader.load_state_dict(writer.state_dict())
    load_optimizer_state(reader_optimizer, copy.deepcopy(writer_optimizer.state_dict()))

    assert reader_optimizer.param_groups[0]["fused"] is fused
    for weight in reader.parameters():
        moments = reader_optimizer.state[weight]
        # On a GPU a fused step refuses moments in another order than the weights'.
        assert moments["exp_avg"].stride() == moments["exp_avg_sq"].stride() == weight.stride()
    step(writer, writer_optimizer, 2)
    step(reader, reader_optimizer, 2)
    for found, expected in zip(weights(reader), weights(writer), strict=True):
        torch.testing.assert_close(found, expected)


def test_a_learning_rate_that_lies_on_a_device_stays_there_and_is_saved_as_a_number() -> None:
    _, optimizer = learner(torch.contiguous_format, fused=True)
    rate = torch.full((), 0.25)
    optimizer.param_groups[0]["lr"] = rate
    saved = optimizer_state(optimizer)
    assert saved["param_groups"][0]["lr"] == 0.25
    assert isinstance(saved["param_groups"][0]["lr"], float)
    rate.fill_(0.5)
    load_optimizer_state(optimizer, saved)
    assert optimizer.param_groups[0]["lr"] is rate
    assert rate.item() == 0.25
    assert optimizer_state(optimizer)["param_groups"] == saved["param_groups"]
