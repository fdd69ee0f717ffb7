"""What the rows of a rollout are taught, computed where a GPU holds them.

The same numbers as `advantages` and `auxiliary_targets` give. Tensors are ``[T, N]``, in the view of each ply's mover;
recurrences along T take log2(T) steps instead of T.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from keisei.core.advantages import ADVANTAGE_STD_FLOOR
from keisei.core.auxiliary_targets import (
    MATERIAL_HORIZON_PLIES,
    MATERIAL_SCALE,
    MOVES_LEFT_SCALE_PLIES,
)
from keisei.core.captured import Captured
from keisei.core.device_positions import PositionTables, material_of
from keisei.core.experience_buffer import Horizon
from keisei.core.rollout_rows import UNKNOWN
from keisei.core.row_shares import AddUp


class RolloutOutcome(NamedTuple):
    """What targets are computed from: columns of `RolloutRows`."""

    record: Tensor  # uint8 [T, N, 96]
    action: Tensor  # int32
    value: Tensor  # float32
    next_value: Tensor  # float32
    reward: Tensor  # float32
    terminated: Tensor  # bool
    truncated: Tensor  # bool
    learner: Tensor  # bool
    forced: Tensor  # bool


class DeviceTargets(NamedTuple):
    """The columns of `RowTargets`."""

    advantage: Tensor
    value: Tensor
    draw: Tensor
    material: Tensor
    moves_left: Tensor
    reply: Tensor


class TargetMaker:
    """`targets_of` the rollouts of one run, which all have one shape. The targets are overwritten by the next ones.

    A process that is alone captures them: a hundred small kernels take longer to launch than to run.
    """

    def __init__(self, tables: PositionTables, add_up: AddUp, *, is_alone: bool) -> None:
        self._tables = tables
        self._add_up = add_up
        self._is_alone = is_alone
        self._makers: dict[Horizon, Callable[..., DeviceTargets]] = {}

    def __call__(self, rows: RolloutOutcome, horizon: Horizon) -> DeviceTargets:
        if horizon not in self._makers:
            self._makers[horizon] = self._maker(horizon)
        return self._makers[horizon](*rows)

    def _maker(self, horizon: Horizon) -> Callable[..., DeviceTargets]:
        def make(*columns: Tensor) -> DeviceTargets:
            return targets_of(RolloutOutcome(*columns), self._tables, horizon, self._add_up)

        return Captured(make) if self._is_alone else make


def targets_of(
    rows: RolloutOutcome, tables: PositionTables, horizon: Horizon, add_up: AddUp
) -> DeviceTargets:
    """The targets of a whole rollout; advantages are normalised over the learner's rows that are not forced.

    That is over those of all processes that ``add_up`` adds up over.
    """
    gamma, lam = horizon
    done = rows.terminated | rows.truncated
    advantages = _advantages(rows, done, gamma, lam)
    last = _last_rows(done)
    return DeviceTargets(
        advantage=_normalised(advantages, rows.learner & ~rows.forced, add_up),
        value=(advantages + rows.value).masked_fill(~rows.learner, 0),
        draw=_carried_back((rows.terminated & (rows.reward == 0)).float(), lam * (~done).float()),
        material=_material(material_of(rows.record, tables), last),
        moves_left=_moves_left(rows.terminated, last),
        reply=_replies(rows.action, done),
    )


def _carried_back(own: Tensor, factor: Tensor) -> Tensor:
    """x with ``x[t] = own[t] + factor[t] x[t + 1]``, and nothing behind the last row."""
    span = 1
    while span < len(own):
        own = torch.cat((own[:-span] + factor[:-span] * own[span:], own[-span:]))
        factor = torch.cat((factor[:-span] * factor[span:], torch.zeros_like(factor[-span:])))
        span *= 2
    return own


def _advantages(rows: RolloutOutcome, done: Tensor, gamma: float, lam: float) -> Tensor:
    """Of the learner's plies; those of a frozen opponent only pass on what is carried back."""
    worth = _worths(rows, done, gamma)
    behind = torch.where(done[:-1], rows.next_value[:-1], worth[1:])
    ahead = torch.cat((behind, rows.next_value[-1:])).masked_fill(rows.terminated, 0)
    delta = (rows.reward - gamma * ahead - rows.value).masked_fill(~rows.learner, 0)
    return _carried_back(delta, -gamma * lam * (~done).float())


def _worths(rows: RolloutOutcome, done: Tensor, gamma: float) -> Tensor:
    """What each position is worth to its mover: its value, or where a frozen opponent moves what its ply led to.

    The latter is ``B_t = r_t - gamma B_{t+1}`` as in `two_player_gae`.
    """
    is_cut = torch.cat((done[:-1], torch.ones_like(done[-1:])))
    ahead = rows.next_value.masked_fill(rows.terminated | ~is_cut, 0)
    own = torch.where(rows.learner, rows.value, rows.reward - gamma * ahead)
    return _carried_back(own, -gamma * (~(rows.learner | is_cut)).float())


def _normalised(advantages: Tensor, used: Tensor, add_up: AddUp) -> Tensor:
    weight = used.float()
    count, total = add_up(torch.stack((weight.sum(), (advantages * weight).sum()))).unbind()
    count = count.clamp(min=1)
    mean = total / count
    spread = (add_up(((advantages - mean) * weight).square().sum()) / count).sqrt()
    return (advantages - mean) * weight / spread.clamp(min=ADVANTAGE_STD_FLOOR)


def _last_rows(done: Tensor) -> Tensor:
    """For each row the index t of the last row of its game within the rollout."""
    plies = _plies(done)
    stops = torch.where(done, plies, len(done) - 1)
    return stops.flip(0).cummin(0).values.flip(0)


def _plies(like: Tensor) -> Tensor:
    return torch.arange(len(like), device=like.device)[:, None]


def _material(balance: Tensor, last: Tensor) -> Tensor:
    plies = _plies(balance)
    later = torch.minimum(plies + MATERIAL_HORIZON_PLIES, last)
    sign = 1 - 2 * ((later - plies) % 2)
    return sign * balance.gather(0, later) / MATERIAL_SCALE


def _moves_left(terminated: Tensor, last: Tensor) -> Tensor:
    plies = last - _plies(terminated) + 1
    return torch.where(terminated.gather(0, last), plies / MOVES_LEFT_SCALE_PLIES, UNKNOWN)


def _replies(action: Tensor, done: Tensor) -> Tensor:
    known = torch.where(done[:-1], UNKNOWN, action[1:])
    return torch.cat((known, torch.full_like(action[-1:], UNKNOWN)))
