"""What a player on a GPU leaves there for the learner: positions, legal moves, and what was chosen."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from keisei.core.device_positions import BITS
from keisei.shogi import RECORD_BYTES

#: What an answer consists of: actions, log-probabilities and values, each as 32 bits.
ANSWERS = 3


class PlayedPositions(NamedTuple):
    """Positions of a rollout, and what was chosen in them, that stay where the learner will read them."""

    record: Tensor  # uint8 [T, N, 96], in the frames of the games
    legal: Tensor  # uint8 [T, N, ceil(A / 8)], the legal actions as bits
    answer: Tensor  # int32 [T, 3, N], see `ANSWERS`

    @classmethod
    def allocate(cls, plies: int, games: int, num_actions: int, device: torch.device) -> PlayedPositions:
        def table(width: int) -> Tensor:
            return torch.zeros((plies, games, width), dtype=torch.uint8, device=device)

        answer = torch.zeros((plies, ANSWERS, games), dtype=torch.int32, device=device)
        return cls(table(RECORD_BYTES), table(-(-num_actions // BITS)), answer)

    def columns(self, games: slice) -> PlayedPositions:
        return PlayedPositions(self.record[:, games], self.legal[:, games], self.answer[:, :, games])

    def write(self, ply: int, record: Tensor, legal: Tensor, answer: Tensor) -> None:
        """Keep a ply of all games: uint8 [N, 96], uint8 [N, ceil(A / 8)], int32 [3, N]."""
        self.record[ply].copy_(record)
        self.legal[ply].copy_(legal)
        self.answer[ply].copy_(answer)

    def correct(self, ply: int, games: Tensor, answer: Tensor) -> None:
        """In these games, int64 [K], another player has moved: its answers are int32 [3, K]."""
        self.answer[ply].index_copy_(1, games, answer)

    @property
    def action(self) -> Tensor:
        """int32 [T, N]"""
        return self.answer[:, 0]

    @property
    def log_prob(self) -> Tensor:
        """float32 [T, N]"""
        return self.answer[:, 1].view(torch.float32)

    @property
    def value(self) -> Tensor:
        """float32 [T, N]"""
        return self.answer[:, 2].view(torch.float32)
