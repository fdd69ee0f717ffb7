"""Heads: every logit stands at the index that the action mapping gives its move."""

import pytest
import torch
from torch import Tensor

from keisei.core.heads import (
    COMPACT_ACTIONS,
    FULL_ACTIONS,
    POLICY_HEADS,
    AuxiliaryHeads,
    CompactPolicyHead,
    FullPolicyHead,
    PositionSummary,
)

CHANNELS = 12


def features(batch: int = 3, seed: int = 1) -> Tensor:
    return torch.rand(batch, CHANNELS, 9, 9, generator=torch.Generator().manual_seed(seed))


def test_action_counts_are_those_of_the_mappings() -> None:
    assert COMPACT_ACTIONS == 27 * 81 == 2187
    assert FULL_ACTIONS == 81 * 80 * 2 + 81 * 7 == 13527
    assert sorted(POLICY_HEADS) == [2187, 13527]


def test_compact_logits_are_plane_times_81_plus_square() -> None:
    torch.manual_seed(0)
    head, inputs = CompactPolicyHead(CHANNELS), features()
    planes, logits = head.planes(inputs), head(inputs)
    for plane in range(27):
        for square in range(81):
            expected = planes[:, plane, square // 9, square % 9]
            torch.testing.assert_close(logits[:, plane * 81 + square], expected, rtol=0, atol=0)


def test_full_logits_follow_the_index_formula() -> None:
    torch.manual_seed(0)
    head, inputs = FullPolicyHead(CHANNELS), features()
    origins, drops = head.origins(inputs).flatten(2), head.drops(inputs).flatten(2)
    destinations = head.destinations(inputs).flatten(2)
    expected = torch.full((len(inputs), 13527), torch.nan)
    for origin in range(81):
        for destination in (square for square in range(81) if square != origin):
            for promote in range(2):
                asked = destinations[:, promote * CHANNELS : (promote + 1) * CHANNELS, destination]
                index = origin * 160 + (destination - (destination > origin)) * 2 + promote
                expected[:, index] = (origins[:, :, origin] * asked).sum(1) / CHANNELS**0.5
    for destination in range(81):
        for kind in range(7):
            expected[:, 12960 + destination * 7 + kind] = drops[:, kind, destination]
    torch.testing.assert_close(head(inputs), expected)


@pytest.mark.parametrize("actions", sorted(POLICY_HEADS))
def test_a_rotated_head_answers_in_the_opponents_view(actions: int) -> None:
    """Turning the answer equals turning the board: the opponent's square 80 - s is our square s."""
    torch.manual_seed(0)
    head, rotated = POLICY_HEADS[actions](CHANNELS), POLICY_HEADS[actions](CHANNELS, rotated=True)
    rotated.load_state_dict(head.state_dict())
    inputs = features()
    torch.testing.assert_close(rotated(inputs), head(inputs.flip(2, 3)))
    assert not torch.allclose(rotated(inputs), head(inputs))


@pytest.mark.parametrize("actions", sorted(POLICY_HEADS))
@pytest.mark.parametrize("rotated", [False, True])
def test_the_memory_layout_does_not_change_the_logits(actions: int, rotated: bool) -> None:
    torch.manual_seed(0)
    head, inputs = POLICY_HEADS[actions](CHANNELS, rotated=rotated), features()
    torch.testing.assert_close(head(inputs.contiguous(memory_format=torch.channels_last)), head(inputs))


def test_the_summary_distinguishes_where_a_feature_is() -> None:
    torch.manual_seed(0)
    summary, inputs = PositionSummary(CHANNELS), features()
    assert summary(inputs).shape == (3, summary.width)
    assert not torch.allclose(summary(inputs), summary(inputs.flip(3)))


def test_auxiliary_heads_predict_two_scalars_and_a_reply() -> None:
    torch.manual_seed(0)
    heads = AuxiliaryHeads(CHANNELS, COMPACT_ACTIONS, 64)
    predictions = heads(features(), torch.rand(3, 64))
    assert {name: tuple(tensor.shape) for name, tensor in predictions.items()} == {
        "material": (3,),
        "moves_left": (3,),
        "reply": (3, COMPACT_ACTIONS),
    }
