"""The loss from packed rows on a device is the loss from planes and masks that the engine unpacked."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from agents import GAMES, PLIES, agent, played_buffer
from card_rules import NothingFromTheHost

from keisei.core.device_positions import PositionTables
from keisei.core.device_rows import DeviceRows, Uploader, device_loss
from keisei.core.device_targets import TargetMaker
from keisei.core.experience_buffer import ExperienceBuffer
from keisei.core.played_positions import PlayedPositions
from keisei.core.ppo_agent import PPOAgent
from keisei.core.ranks import ALONE
from keisei.core.row_shares import row_shares
from keisei.shogi.positions import legal_mask_bits

CPU = torch.device("cpu")
TARGETS = TargetMaker(PositionTables.on(CPU), ALONE.add_up, is_alone=True)


def buffer_of(learner: PPOAgent, *, is_played_there: bool, opponent_share: float = 0.0) -> ExperienceBuffer:
    """Rows of the learner, and what the device that played them would have kept."""
    buffer = played_buffer(learner, opponent_share=opponent_share)
    if is_played_there:
        rows = buffer.rows
        bits = legal_mask_bits(rows.record, learner.num_actions)
        answers = (rows.action, rows.log_prob.view(np.int32), rows.value.view(np.int32))
        buffer.played = PlayedPositions(
            *(torch.from_numpy(part).view(PLIES, GAMES, -1) for part in (rows.record, bits)),
            torch.from_numpy(np.stack([part.reshape(PLIES, GAMES) for part in answers], axis=1)),
        )
    return buffer


def uploaded(learner: PPOAgent, buffer: ExperienceBuffer, send: Uploader | None = None) -> DeviceRows:
    return DeviceRows.upload(buffer, send or Uploader(CPU), learner.num_actions, 1, TARGETS)


@pytest.mark.parametrize("opponent_share", [0.0, 0.7])
@pytest.mark.parametrize("is_played_there", [False, True])
def test_the_loss_is_the_same_from_either_form(is_played_there: bool, opponent_share: float) -> None:
    learner = agent()
    buffer = buffer_of(learner, is_played_there=is_played_there, opponent_share=opponent_share)
    weights = learner.loss_weights(0.3)
    indices = next(buffer.minibatches(40, np.random.default_rng(1)))
    expected, expected_metrics = learner._host_loss(buffer, indices, weights)
    chosen = uploaded(learner, buffer).chosen(torch.from_numpy(indices))
    loss, metrics = device_loss(learner.inference, chosen, weights)
    torch.testing.assert_close(loss, expected)
    assert metrics.keys() == expected_metrics.keys()
    for name, metric in metrics.items():
        torch.testing.assert_close(metric, expected_metrics[name])


def test_a_process_with_half_of_the_rows_has_half_of_the_loss() -> None:
    learner = agent()
    buffer = played_buffer(learner)
    weights = learner.loss_weights(0.3)
    rows = uploaded(learner, buffer).chosen(torch.arange(40))
    whole, figures = device_loss(learner.inference, rows, weights)
    half, halves = device_loss(learner.inference, rows, weights, row_shares(rows, lambda counts: 2 * counts))
    torch.testing.assert_close(2 * half, whole)
    for name, figure in figures.items():
        torch.testing.assert_close(2 * halves[name], figure, msg=name)


@pytest.mark.parametrize("opponent_share", [0.0, 0.7])
def test_explained_variance_is_that_of_the_host(opponent_share: float) -> None:
    learner = agent()
    buffer = buffer_of(learner, is_played_there=True, opponent_share=opponent_share)
    found = learner._explained_variance(buffer, uploaded(learner, buffer))
    torch.testing.assert_close(found, learner._explained_variance(buffer, None))


@pytest.mark.parametrize("opponent_share", [0.0, 0.7])
def test_what_was_played_there_is_not_sent_and_the_rest_is_sent_once(opponent_share: float) -> None:
    learner, send = agent(), Uploader(CPU)
    buffer = buffer_of(learner, is_played_there=True, opponent_share=opponent_share)
    uploaded(learner, buffer, send)
    next_value, how_it_ended = 4, 1
    assert send.bytes_sent == len(buffer) * (next_value + how_it_ended)


def test_rows_that_were_played_elsewhere_are_sent_whole_and_once() -> None:
    learner = agent()
    buffer, send = buffer_of(learner, is_played_there=False), Uploader(CPU)
    rows = uploaded(learner, buffer, send)
    assert send.bytes_sent == sum(column.nbytes for column in rows)


def test_indices_of_minibatches_are_counted() -> None:
    learner = agent()
    buffer = buffer_of(learner, is_played_there=True)
    step = learner._step_on(buffer, uploaded(learner, buffer), learner.loss_weights(0.0))
    step(np.arange(40))
    assert learner.bytes_uploaded == 40 * 4


def test_nobody_waits_for_a_loss() -> None:
    learner = agent()
    rows = uploaded(learner, played_buffer(learner)).chosen(torch.arange(40))
    weights = replace(learner.loss_weights(0.3), entropy=torch.full((), 0.01))
    given = (rows, learner.inference.tables, list(learner.network.parameters()), weights.entropy)
    with NothingFromTheHost(given) as watch:
        device_loss(learner.inference, rows, weights)
    assert watch.operations > 0
