"""The networks: shapes, gradients, determinism, and the same numbers in play as in learning."""

import math

import pytest
import torch
from network_samples import ACTION_COUNTS, ARCHITECTURES, board_like_planes, network
from torch import nn

from keisei.core.networks import ActorCritic, NetworkOutput

every_network = pytest.mark.parametrize(
    ("architecture", "actions", "se_ratio"),
    [(name, actions, ratio) for name in ARCHITECTURES for actions in ACTION_COUNTS for ratio in (0, 4)],
)


@every_network
def test_outputs_have_the_documented_shapes(architecture: str, actions: int, se_ratio: int) -> None:
    output = network(architecture, actions, se_ratio=se_ratio)(board_like_planes(5))
    assert output.policy_logits.shape == (5, actions)
    assert output.value_logits.shape == (5, 3)
    assert output.auxiliary["material"].shape == output.auxiliary["moves_left"].shape == (5,)
    assert output.auxiliary["reply"].shape == (5, actions)
    assert output.policy_logits.is_contiguous()


@every_network
def test_a_gradient_reaches_every_weight_from_the_first_step(
    architecture: str, actions: int, se_ratio: int
) -> None:
    model = network(architecture, actions, se_ratio=se_ratio)
    output = model(board_like_planes(8))
    generator = torch.Generator().manual_seed(0)
    answers = [output.policy_logits, output.value_logits, *output.auxiliary.values()]
    torch.stack(
        [(answer * torch.randn(answer.shape, generator=generator)).sum() for answer in answers]
    ).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().max() > 0, name
        assert parameter.grad.isfinite().all(), name


@every_network
def test_g4_play_and_learning_compute_the_same_policy(architecture: str, actions: int, se_ratio: int) -> None:
    model, planes = network(architecture, actions, se_ratio=se_ratio), board_like_planes(6)
    learning = model.train()(planes)
    with torch.inference_mode():
        playing = model.eval()(planes, with_auxiliary=False)
    assert torch.equal(learning.policy_logits, playing.policy_logits)
    assert torch.equal(learning.value_logits, playing.value_logits)
    assert playing.auxiliary == {}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_g4_a_position_is_judged_alone(architecture: str) -> None:
    """No statistic of the batch: the company of other positions does not change an answer."""
    model, planes = network(architecture), board_like_planes(32)
    together = model(planes)
    alone = model(planes[7:8])
    torch.testing.assert_close(together.policy_logits[7:8], alone.policy_logits, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(together.value_logits[7:8], alone.value_logits, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_g4_no_layer_keeps_statistics(architecture: str) -> None:
    model = network(architecture)
    assert list(model.buffers()) == []
    assert not any(isinstance(module, nn.modules.batchnorm._NormBase) for module in model.modules())


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_seed_decides_the_initial_weights(architecture: str) -> None:
    one, same, other = (network(architecture, seed=seed).state_dict() for seed in (5, 5, 6))
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not all(torch.equal(one[name], other[name]) for name in one)


@every_network
def test_the_first_policy_is_nearly_uniform_and_the_first_value_nearly_0(
    architecture: str, actions: int, se_ratio: int
) -> None:
    with torch.no_grad():
        output = network(architecture, actions, se_ratio=se_ratio)(board_like_planes(16))
    log_probs = output.policy_logits.log_softmax(1)
    entropy = -(log_probs.exp() * log_probs).sum(1)
    assert entropy.min() > 0.98 * math.log(actions)
    assert output.value.abs().max() < 0.25


@pytest.mark.parametrize("architecture", ["resnet", "resnet_gpool"])
@pytest.mark.parametrize("blocks", [1, 20])
def test_features_have_unit_scale_at_any_depth(architecture: str, blocks: int) -> None:
    model = network(architecture, blocks=blocks, channels=32)
    assert isinstance(model.tower, nn.Module)
    with torch.no_grad():
        moment = model.tower(board_like_planes(16)).square().mean().item()
    assert 0.3 < moment < 6


def test_value_is_win_less_loss() -> None:
    probabilities = torch.tensor([[0.7, 0.2, 0.1], [0.0, 0.0, 1.0], [0.25, 0.5, 0.25]])
    output = NetworkOutput(torch.zeros(3, 1), probabilities.log(), {})
    torch.testing.assert_close(output.value, torch.tensor([0.6, -1.0, 0.0]))


def test_value_is_float32_whatever_the_network_computes_in() -> None:
    model = network().to(torch.bfloat16)
    output = model(board_like_planes(2).to(torch.bfloat16))
    assert output.policy_logits.dtype == torch.bfloat16
    assert output.value.dtype == torch.float32


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_without_auxiliary_heads_there_is_nothing_to_predict(architecture: str) -> None:
    model = network(architecture, auxiliary_heads=False)
    assert model(board_like_planes(2)).auxiliary == {}
    assert sum(p.numel() for p in model.parameters()) < sum(
        p.numel() for p in network(architecture).parameters()
    )


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_squeeze_excitation_adds_its_weights_only_when_asked(architecture: str) -> None:
    def gates(se_ratio: int) -> list[str]:
        model = network(architecture, se_ratio=se_ratio)
        return [name for name, _ in model.named_parameters() if ".squeeze." in name]

    assert gates(0) == []
    assert gates(4) != []


def test_the_last_block_and_every_second_before_it_pool() -> None:
    def pooling(blocks: int) -> list[int]:
        model = network("resnet_gpool", blocks=blocks)
        names = {
            name.split(".")[1] for name, _ in model.named_parameters() if ".mix." in name and "tower" in name
        }
        return sorted(map(int, names))

    assert pooling(1) == [1]
    assert pooling(2) == [2]
    assert pooling(5) == [1, 3, 5]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("setting", ["blocks", "channels"])
def test_size_settings_change_the_network(architecture: str, setting: str) -> None:
    small, large = (network(architecture, **{setting: size}) for size in (8, 16))
    assert sum(p.numel() for p in large.parameters()) > sum(p.numel() for p in small.parameters())


def test_parameters_are_contiguous_for_storage() -> None:
    for architecture in ARCHITECTURES:
        assert all(tensor.is_contiguous() for tensor in network(architecture, 13527).state_dict().values())


def test_a_network_without_forward_says_so() -> None:
    with pytest.raises(NotImplementedError, match="ActorCritic does not define forward"):
        ActorCritic(2187)(board_like_planes(1))
