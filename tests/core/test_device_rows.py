"""The loss from packed rows on a device is the loss from planes and masks that the engine unpacked."""

import pytest
import torch
from agents import GAMES, PLIES, agent, played_buffer

from keisei.core.device_player import PlayedPositions
from keisei.core.device_rows import DeviceRows, device_loss
from keisei.core.device_targets import TargetMaker
from keisei.core.ranks import ALONE
from keisei.core.row_shares import row_shares
from keisei.shogi.positions import legal_mask_bits

CPU = torch.device("cpu")
TARGETS = TargetMaker(ALONE.add_up, is_alone=True)


@pytest.mark.parametrize("is_played_there", [False, True])
def test_the_loss_is_the_same_from_either_form(is_played_there: bool) -> None:
    learner = agent()
    buffer = played_buffer(learner)
    if is_played_there:
        bits = legal_mask_bits(buffer.rows.record, learner.num_actions)
        buffer.played = PlayedPositions(
            *(torch.from_numpy(part).view(PLIES, GAMES, -1) for part in (buffer.rows.record, bits))
        )
    uploaded = DeviceRows.upload(buffer, CPU, learner.num_actions, 1, TARGETS)
    weights = learner.loss_weights(0.3)
    indices = torch.tensor([5, 3, 40, 17, 5])
    expected, expected_metrics = learner._host_loss(buffer, indices.numpy(), weights)
    loss, metrics = device_loss(learner.inference, uploaded.chosen(indices), weights)
    torch.testing.assert_close(loss, expected)
    assert metrics.keys() == expected_metrics.keys()
    for name, metric in metrics.items():
        torch.testing.assert_close(metric, expected_metrics[name])


def test_a_process_with_half_of_the_rows_has_half_of_the_loss() -> None:
    learner = agent()
    buffer = played_buffer(learner)
    weights = learner.loss_weights(0.3)
    rows = DeviceRows.upload(buffer, CPU, learner.num_actions, 1, TARGETS).chosen(torch.arange(40))
    whole, figures = device_loss(learner.inference, rows, weights)
    half, halves = device_loss(learner.inference, rows, weights, row_shares(rows, lambda counts: 2 * counts))
    torch.testing.assert_close(2 * half, whole)
    for name, figure in figures.items():
        torch.testing.assert_close(2 * halves[name], figure, msg=name)
