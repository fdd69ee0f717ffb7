"""Moves for many games at once on a GPU, without a wait between the question and the answer.

One CUDA graph leads from packed positions and joined legal lists to drawn actions. While the card thinks about one half
of the games, the CPU plays the other half. On a CPU the same class computes at once: its twin for tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from keisei.core.captured import captured
from keisei.core.compiling import fused_on_gpu
from keisei.core.device_positions import BITS, mask_of_lists, packed_mask, planes_of
from keisei.core.inference import Inference
from keisei.core.ppo_loss import masked_log_probs
from keisei.shogi import MAX_LEGAL_MOVES, RECORD_BYTES, ShogiVectorEnv
from keisei.shogi.positions import join_lists

#: In place of a mating action: there is none.
NO_MATE = -1

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


class Moves(NamedTuple):
    """What was chosen in B games."""

    action: NDArray[np.int32]  # [B]
    log_prob: NDArray[np.float32]  # [B], of the action among the legal ones
    value: NDArray[np.float32]  # [B], P(win) - P(loss) of the mover


class DevicePlayer:
    """Chooses the moves of all games of one environment with a network, one question at a time."""

    def __init__(
        self,
        inference: Inference,
        env: ShogiVectorEnv,
        *,
        temperature: float,
        seed: int,
        is_compiled: bool = False,
    ) -> None:
        self.inference = inference
        self.env = env
        self.temperature = temperature
        self.is_compiled = is_compiled
        device = inference.device
        games = env.num_games
        self.generator = torch.Generator(device).manual_seed(seed)
        self._record = torch.zeros((games, RECORD_BYTES), dtype=torch.uint8, device=device)
        self._joined = torch.zeros(games * MAX_LEGAL_MOVES, dtype=torch.int16, device=device)
        self._ends = torch.zeros(games, dtype=torch.int32, device=device)
        self._mate = torch.full((games,), NO_MATE, dtype=torch.int16, device=device)
        self._noise = torch.ones((games, env.num_actions), device=device)
        pinned = device.type == "cuda"
        self._joined_host = torch.zeros(games * MAX_LEGAL_MOVES, dtype=torch.int16, pin_memory=pinned)
        self._ends_host = torch.zeros(games, dtype=torch.int32, pin_memory=pinned)
        self._record_host = torch.zeros((games, RECORD_BYTES), dtype=torch.uint8, pin_memory=pinned)
        self._mate_host = torch.zeros(games, dtype=torch.int16, pin_memory=pinned)
        self._answer_host = torch.zeros((ANSWERS, games), dtype=torch.int32, pin_memory=pinned)
        #: Bytes that were copied to the device.
        self.bytes_uploaded = 0
        self._choose = fused_on_gpu(_chosen, device) if is_compiled else _chosen
        self._card = _Card(self._think, self.generator) if device.type == "cuda" else None

    def ask(self, keep: PlayedPositions | None = None, ply: int = 0) -> None:
        """Begin to think about the positions to move in; ``keep`` gets them in its row ``ply``."""
        self._record_host.numpy()[:] = self.env.records
        # Without a mate the number is the largest uint16, which is NO_MATE here.
        self._mate_host.numpy()[:] = self.env.mate_in_one.view(np.int16)
        self._begin(self._join_lists(), keep, ply)

    def _join_lists(self) -> int:
        """Put the legal lists of the games into the host's arrays; how long they are together."""
        return len(
            join_lists(self.env.legal, self._joined_host.numpy().view(np.uint16), self._ends_host.numpy())
        )

    def _begin(self, lists_length: int, keep: PlayedPositions | None = None, ply: int = 0) -> None:
        """Send what the host's arrays hold, and begin to think about it."""
        if self._card is None:
            self._upload(lists_length)
            answer, legal = self._think()
            self._keep(keep, ply, answer, legal)
            self._answer_host.copy_(answer)
            return
        with self._card.uploading():
            self._upload(lists_length)
        answer, legal = self._card.think()
        self._keep(keep, ply, answer, legal)
        self._answer_host.copy_(answer, non_blocking=True)
        self._card.answered.record()

    def answer(self) -> Moves:
        """The moves; waits until they are chosen. The arrays are overwritten by the next answer."""
        if self._card is not None:
            self._card.answered.synchronize()
        answer = self._answer_host.numpy()
        return Moves(answer[0], answer[1].view(np.float32), answer[2].view(np.float32))

    def values(self, records: NDArray[np.uint8]) -> NDArray[np.float32]:
        """float32 [K]: of positions uint8 [K, 96] of any origin, P(win) - P(loss) of the mover."""
        games = self.env.num_games
        return np.concatenate(
            [self._values(records[start : start + games]) for start in range(0, len(records), games)]
        )

    def _values(self, records: NDArray[np.uint8]) -> NDArray[np.float32]:
        self._record_host.numpy()[: len(records)] = records
        # Without a legal move nothing can be chosen: only the values mean something.
        self._ends_host.zero_()
        self._mate_host.fill_(NO_MATE)
        self._begin(lists_length=0)
        return self.answer().value[: len(records)].copy()

    def moves_in(self, records: NDArray[np.uint8]) -> Moves:
        """What would be drawn in positions uint8 [K, 96] of any origin, no more than there are games, in their order.

        As if the legal moves were those of the games.
        """
        self._record_host.numpy()[: len(records)] = records
        self._mate_host.fill_(NO_MATE)
        self._begin(self._join_lists())
        moves, count = self.answer(), len(records)
        return Moves(moves.action[:count].copy(), moves.log_prob[:count].copy(), moves.value[:count].copy())

    def _upload(self, lists_length: int) -> None:
        sources = (
            (self._record, self._record_host),
            (self._joined[:lists_length], self._joined_host[:lists_length]),
            (self._ends, self._ends_host),
            (self._mate, self._mate_host),
        )
        for target, source in sources:
            target.copy_(source, non_blocking=True)
            self.bytes_uploaded += source.nbytes

    def _think(self) -> tuple[Tensor, Tensor]:
        """int32 [3, B]: actions, and the bits of log-probabilities and values; then the legal actions as bits."""
        self._noise.exponential_(generator=self.generator)
        return self._choose(
            self.inference,
            self._record,
            self._joined,
            self._ends,
            self._mate,
            self._noise,
            self.temperature,
        )

    def _keep(self, keep: PlayedPositions | None, ply: int, answer: Tensor, legal: Tensor) -> None:
        if keep is not None:
            keep.record[ply].copy_(self._record)
            keep.legal[ply].copy_(legal)
            keep.answer[ply].copy_(answer)


@torch.no_grad()
def _chosen(
    inference: Inference,
    record: Tensor,
    joined: Tensor,
    ends: Tensor,
    mate: Tensor,
    noise: Tensor,
    temperature: float,
) -> tuple[Tensor, Tensor]:
    output = inference.forward(planes_of(record, inference.tables), with_auxiliary=False)
    legal = mask_of_lists(joined, ends, noise.shape[1])
    log_probs = masked_log_probs(output.policy_logits, legal)
    if temperature != 1:
        log_probs = (log_probs / temperature).log_softmax(dim=1)
    # The action whose exponential clock, running at its probability, rings first.
    drawn = (log_probs - noise.log()).argmax(dim=1)
    action = torch.where(mate != NO_MATE, mate.long(), drawn)
    log_prob = log_probs.gather(1, action[:, None]).squeeze(1)
    answer = torch.stack((action.int(), log_prob.view(torch.int32), output.value.view(torch.int32)))
    return answer, packed_mask(legal, inference.tables)


class _Card:
    """The CUDA side of a player: a captured graph, a stream for copies, and the moment of the answer."""

    def __init__(self, think: Callable[[], tuple[Tensor, Tensor]], generator: torch.Generator) -> None:
        self.answered = torch.cuda.Event()  # type: ignore[no-untyped-call]  # torch leaves these untyped
        self._copies = torch.cuda.Stream()  # type: ignore[no-untyped-call]  # likewise
        self._graph, self._thought = captured(think, generator)

    @contextmanager
    def uploading(self) -> Iterator[None]:
        """Copies beside the work of another player; the next thought waits for them."""
        with torch.cuda.stream(self._copies):
            yield
        torch.cuda.current_stream().wait_stream(self._copies)

    def think(self) -> tuple[Tensor, Tensor]:
        self._graph.replay()
        return self._thought
