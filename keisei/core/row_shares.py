"""Which part of the rows of a gradient step a process has.

A loss is a sum of means, and not all of them are over the same rows. Scaled by these shares, the losses of several
processes, their gradients and the figures beside them add up to those of one process that has all rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from keisei.core.rollout_rows import UNKNOWN

#: A tensor, added up over all processes that learn together.
AddUp = Callable[[Tensor], Tensor]


class RowShares(NamedTuple):
    """0..1 for each kind of row that some mean is over; scalar tensors where there are several processes."""

    every: float | Tensor
    free: float | Tensor  # not forced
    forced: float | Tensor
    moves_left: float | Tensor  # with known moves left
    reply: float | Tensor  # with a known reply


#: Of one process alone.
WHOLE = RowShares(1.0, 1.0, 1.0, 1.0, 1.0)


class RowKinds(Protocol):
    """The columns, [B] each, that tell of which kinds a row is."""

    @property
    def forced(self) -> Tensor: ...

    @property
    def moves_left(self) -> Tensor: ...

    @property
    def reply(self) -> Tensor: ...


def row_shares(rows: RowKinds, add_up: AddUp) -> RowShares:
    """The shares of these rows among those that all processes have for the same step."""
    forced = rows.forced.sum()
    every = torch.full_like(forced, len(rows.forced))
    known = ((rows.moves_left != UNKNOWN).sum(), (rows.reply != UNKNOWN).sum())
    own = torch.stack((every, every - forced, forced, *known)).float()
    return RowShares(*(own / add_up(own).clamp(min=1)).unbind())
