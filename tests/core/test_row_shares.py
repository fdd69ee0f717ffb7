"""The losses of several processes, scaled by their shares, add up to the loss of one that has all rows."""

import dataclasses

import pytest
import torch
from joint_sums import with_joint_sums
from network_samples import board_like_planes, network
from torch import Tensor

from keisei.core.ppo_loss import LossWeights, PpoBatch, explained_variance, joint_explained_variance, ppo_loss
from keisei.core.rollout_rows import UNKNOWN
from keisei.core.row_shares import WHOLE, AddUp, row_shares

ROWS, ACTIONS = 24, 2187
WEIGHTS = LossWeights(clip_range=0.2, value=0.7, entropy=0.03, auxiliary=0.9, mate_in_one=0.25)
#: Rows of each process; the last has none of some kinds.
CUTS = ((0, 14), (14, 22), (22, 24))


def batch_of_all() -> PpoBatch:
    generator = torch.Generator().manual_seed(3)
    action = torch.randint(0, ACTIONS, (ROWS,), generator=generator)
    legal = torch.rand(ROWS, ACTIONS, generator=generator) < 0.02
    legal[torch.arange(ROWS), action] = True
    row = torch.arange(ROWS)
    return PpoBatch(
        legal=legal,
        action=action,
        log_prob=-3 - torch.rand(ROWS, generator=generator),
        advantage=torch.randn(ROWS, generator=generator),
        value=2 * torch.rand(ROWS, generator=generator) - 1,
        draw=torch.zeros(ROWS),
        forced=row % 5 == 0,
        material=torch.randn(ROWS, generator=generator),
        moves_left=torch.where((row % 3 == 0) & (row < 22), row / 30, float(UNKNOWN)),
        reply=torch.where((row % 4 != 0) & (row < 22), action, UNKNOWN),
    )


def part_of(batch: PpoBatch, cut: tuple[int, int]) -> PpoBatch:
    columns = {field.name: getattr(batch, field.name)[slice(*cut)] for field in dataclasses.fields(batch)}
    return PpoBatch(**columns)


def test_losses_figures_and_gradients_add_up_to_those_of_one_process() -> None:
    model, planes, batch = network("cnn", ACTIONS, 1), board_like_planes(ROWS), batch_of_all()

    def learn(cut: tuple[int, int], add_up: AddUp | None) -> tuple[dict[str, Tensor], list[Tensor]]:
        part = part_of(batch, cut)
        shares = WHOLE if add_up is None else row_shares(part, add_up)
        loss, metrics = ppo_loss(model(planes[slice(*cut)]), part, WEIGHTS, shares)
        return metrics, list(torch.autograd.grad(loss, list(model.parameters())))

    expected, gradients = learn((0, ROWS), None)
    parts = with_joint_sums([lambda add_up, cut=cut: learn(cut, add_up) for cut in CUTS])
    for name, figure in expected.items():
        total = torch.stack([metrics[name] for metrics, _ in parts]).sum()
        torch.testing.assert_close(total, figure, rtol=1e-5, atol=1e-6, msg=name)
    for number, gradient in enumerate(gradients):
        total = torch.stack([found[number] for _, found in parts]).sum(dim=0)
        torch.testing.assert_close(total, gradient, rtol=1e-4, atol=1e-6)


def test_shares_of_a_kind_that_nobody_has_are_nothing() -> None:
    batch = dataclasses.replace(batch_of_all(), forced=torch.zeros(ROWS, dtype=torch.bool))
    shares = row_shares(batch, lambda counts: 2 * counts)
    assert [float(share) for share in shares] == [0.5, 0.5, 0.0, 0.5, 0.5]


@pytest.mark.parametrize("sizes", [(20, 5), (20, 0)])
def test_explained_variance_is_that_of_all_rows(sizes: tuple[int, ...]) -> None:
    generator = torch.Generator().manual_seed(1)
    values, returns = (2 * torch.rand(2, sum(sizes), generator=generator) - 1).unbind()
    pairs = zip(values.split(sizes), returns.split(sizes), strict=True)
    found = with_joint_sums(
        [lambda add_up, pair=pair: joint_explained_variance(*pair, add_up) for pair in pairs]
    )
    expected = float(explained_variance(values, returns))
    assert [float(share) for share in found] == pytest.approx([expected] * len(sizes), abs=1e-5)


def test_nothing_is_explained_where_all_returns_are_equal() -> None:
    equal = torch.full((4,), 0.25)
    assert float(joint_explained_variance(torch.rand(4), equal, lambda sums: sums)) == 0
