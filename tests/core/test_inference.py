"""The one path from packed positions to policies and values."""

import numpy as np
import pytest
import torch
from agents import positions
from network_samples import ACTION_COUNTS, network
from self_play import CPU, environment

from keisei.core.inference import Inference
from keisei.core.ppo_loss import ILLEGAL_LOGIT
from keisei.shogi import PolicyOutputMapper, ShogiGame

POSITIONS = 16


def asked(actions: int = 2187, precision: str = "fp32") -> Inference:
    return Inference(network("cnn", actions), device=CPU, precision=precision)


def games(records: np.ndarray) -> list[ShogiGame]:
    return [ShogiGame.from_packed(record.tobytes()) for record in records]


def test_planes_are_the_observations_of_the_games() -> None:
    records = positions(POSITIONS)
    planes = asked().planes(records)
    assert planes.dtype is torch.float32
    for row, game in zip(planes, games(records), strict=True):
        assert np.array_equal(row.numpy(), game.get_observation())


@pytest.mark.parametrize("actions", ACTION_COUNTS)
def test_legal_masks_are_those_of_the_games(actions: int) -> None:
    records = positions(POSITIONS)
    masks = asked(actions).legal(records)
    mapper = PolicyOutputMapper(actions)
    for row, game in zip(masks, games(records), strict=True):
        assert np.array_equal(row.numpy(), mapper.legal_mask(game))


def test_lists_of_the_environment_and_masks_made_again_say_the_same() -> None:
    env = environment(POSITIONS)
    for _ in range(6):
        env.step(env.random_actions())
    inference = asked()
    listed = inference.evaluate(env.records, env.legal)
    again = inference.evaluate(env.records)
    assert torch.equal(listed.log_probs, again.log_probs)
    assert torch.equal(listed.value, again.value)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("actions", ACTION_COUNTS)
def test_an_evaluation_is_a_distribution_over_legal_actions_in_float32(actions: int, precision: str) -> None:
    records = positions(POSITIONS)
    inference = asked(actions, precision)
    evaluation = inference.evaluate(records)
    legal = inference.legal(records)
    assert evaluation.log_probs.dtype is evaluation.value.dtype is torch.float32
    assert torch.allclose(evaluation.log_probs.exp().sum(dim=1), torch.ones(POSITIONS), atol=1e-5)
    assert (evaluation.log_probs[~legal] <= ILLEGAL_LOGIT / 2).all()
    assert (evaluation.value.abs() <= 1).all()


def test_values_alone_are_those_of_the_evaluation() -> None:
    records = positions(POSITIONS)
    inference = asked()
    assert np.array_equal(inference.values(records), inference.evaluate(records).value.numpy())


def test_a_slice_of_a_larger_array_needs_no_copy_by_the_caller() -> None:
    records = positions(2 * POSITIONS)
    inference = asked()
    assert torch.equal(
        inference.evaluate(records[::2]).log_probs, inference.evaluate(records[::2].copy()).log_probs
    )


def test_threads_change_nothing() -> None:
    records = positions(64)
    many = Inference(network("cnn"), device=CPU, precision="fp32", num_threads=3)
    assert torch.equal(many.planes(records), asked().planes(records))
    assert torch.equal(many.legal(records), asked().legal(records))


def test_nothing_is_recorded_for_gradients_in_play() -> None:
    evaluation = asked().evaluate(positions(2))
    assert not evaluation.log_probs.requires_grad
    assert not evaluation.value.requires_grad


def test_a_forward_pass_for_learning_records_gradients() -> None:
    inference = asked()
    output = inference.forward(inference.planes(positions(2)), with_auxiliary=True)
    assert output.policy_logits.requires_grad
    assert set(output.auxiliary) == {"material", "moves_left", "reply"}


def test_the_number_type_must_be_known() -> None:
    with pytest.raises(KeyError, match="int8"):
        asked(precision="int8")
