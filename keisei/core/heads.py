"""What a tower's features are turned into: move logits for either action mapping, and scalars.

All inputs are features ``[B, C, 9, 9]`` behind a ReLU, in the mover's view; square = 9 * row + column, row 0
is rank a, column 0 is file 9. A *rotated* policy head answers in the view of the opponent, who sees the board
turned by 180° (square s is his square 80 - s): its indices are those of the opponent's action in the next
row.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from keisei.core.blocks import RELU_GAIN, convolution, fully_connected

SQUARES = 81
# 2,187 = 27 planes × 81 destinations: 10 directions, the same with promotion, 7 drops.
COMPACT_PLANES = 27
COMPACT_ACTIONS = COMPACT_PLANES * SQUARES
# 13,527 = 81 origins × 80 other squares × 2 (promotion) + 81 destinations × 7 drops.
PROMOTIONS = 2
DROP_KINDS = 7
FULL_BOARD_ACTIONS = SQUARES * (SQUARES - 1) * PROMOTIONS
FULL_ACTIONS = FULL_BOARD_ACTIONS + SQUARES * DROP_KINDS

# Output layers start small, so that the first policy is nearly uniform and the first values are nearly equal.
OUTPUT_GAIN = 0.1

# Names of the auxiliary predictions.
MATERIAL = "material"
MOVES_LEFT = "moves_left"
REPLY = "reply"

SUMMARY_PLANES = 8
SUMMARY_FEATURES = 64


class CompactPolicyHead(nn.Module):
    """Logits of the 2,187 actions: a 1×1 convolution to 27 planes, index = plane * 81 + destination."""

    def __init__(self, channels: int, *, rotated: bool = False) -> None:
        super().__init__()
        self.rotated = rotated
        self.planes = convolution(channels, COMPACT_PLANES, size=1, gain=OUTPUT_GAIN)

    def forward(self, features: Tensor) -> Tensor:
        """``[B, C, 9, 9]`` -> ``[B, 2187]``."""
        logits: Tensor = self.planes(features).flatten(2)
        if self.rotated:
            logits = logits.flip(2)
        return logits.flatten(1)


class FullPolicyHead(nn.Module):
    """Logits of the 13,527 actions: embeddings of origin and destination are matched, drops have planes.

    A board move's logit is the scaled product of what its origin offers and what its destination (with or
    without promotion) asks for, so 12,960 logits cost one small matrix product instead of a layer with
    millions of weights.
    Index: ``from * 160 + (to - [to > from]) * 2 + promote``; drops ``12960 + to * 7 + kind``.
    """

    def __init__(self, channels: int, *, rotated: bool = False) -> None:
        super().__init__()
        self.rotated = rotated
        self.width = channels
        self.origins = convolution(channels, channels, size=1, gain=RELU_GAIN)
        self.destinations = convolution(channels, PROMOTIONS * channels, size=1, gain=OUTPUT_GAIN)
        self.drops = convolution(channels, DROP_KINDS, size=1, gain=OUTPUT_GAIN)

    def forward(self, features: Tensor) -> Tensor:
        """``[B, C, 9, 9]`` -> ``[B, 13527]``."""
        # The product of two unit-scale embeddings is unit-scale again.
        origins = self._by_square(self.origins(features)) / math.sqrt(self.width)
        destinations = self._by_square(self.destinations(features))
        destinations = destinations.reshape(-1, SQUARES * PROMOTIONS, self.width)
        pairs = torch.bmm(origins, destinations.transpose(1, 2))
        drops = self._by_square(self.drops(features))
        return torch.cat((_without_standing_still(pairs), drops.flatten(1)), dim=1)

    def _by_square(self, planes: Tensor) -> Tensor:
        """``[B, K, 9, 9]`` -> ``[B, 81, K]`` in the head's view (no copy for channels_last features)."""
        rows = planes.permute(0, 2, 3, 1).flatten(1, 2)
        return rows.flip(1) if self.rotated else rows


def _without_standing_still(pairs: Tensor) -> Tensor:
    """``[B, 81 from, 81 to * 2 promote]`` -> ``[B, 12960]``: drops ``from == to`` and keeps the order.

    Behind the first diagonal entry the diagonal recurs every 82 entries, so as rows of 82 it is the last
    column: a slice and one copy, where an index table would need a scatter in the backward pass.
    """
    entries = pairs.reshape(-1, SQUARES * SQUARES, PROMOTIONS)[:, 1:]
    rows = entries.reshape(-1, SQUARES - 1, SQUARES + 1, PROMOTIONS)
    return rows[:, :, :-1].flatten(1)


POLICY_HEADS: dict[int, type[CompactPolicyHead] | type[FullPolicyHead]] = {
    COMPACT_ACTIONS: CompactPolicyHead,
    FULL_ACTIONS: FullPolicyHead,
}


class PositionSummary(nn.Module):
    """The whole position as one vector, from which the value and the scalar predictions are read."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.width = max(SUMMARY_FEATURES, channels)
        self.planes = convolution(channels, SUMMARY_PLANES, size=1, gain=RELU_GAIN)
        self.mix = fully_connected(SUMMARY_PLANES * SQUARES, self.width, gain=RELU_GAIN)

    def forward(self, features: Tensor) -> Tensor:
        """``[B, C, 9, 9]`` -> ``[B, width]``, not negative."""
        planes = F.relu(self.planes(features))
        # Square by square, because this is how channels_last features lie in memory.
        return F.relu(self.mix(planes.permute(0, 2, 3, 1).flatten(1)))


class AuxiliaryHeads(nn.Module):
    """Predictions that nobody plays by: they teach the tower material, endings and replies."""

    def __init__(self, channels: int, num_actions: int, summary_width: int) -> None:
        super().__init__()
        self.scalars = fully_connected(summary_width, len((MATERIAL, MOVES_LEFT)), gain=OUTPUT_GAIN)
        self.reply = POLICY_HEADS[num_actions](channels, rotated=True)

    def forward(self, features: Tensor, summary: Tensor) -> dict[str, Tensor]:
        """``[B, C, 9, 9]``, ``[B, width]`` -> material ``[B]``, moves left ``[B]``, reply ``[B, A]``."""
        material, moves_left = self.scalars(summary).unbind(1)
        return {MATERIAL: material, MOVES_LEFT: moves_left, REPLY: self.reply(features)}
