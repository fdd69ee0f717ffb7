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
from keisei.core.device_positions import mask_of_lists, packed_mask, planes_of
from keisei.core.inference import Inference
from keisei.core.played_positions import ANSWERS, PlayedPositions
from keisei.core.ppo_loss import masked_log_probs
from keisei.shogi import MAX_LEGAL_MOVES, RECORD_BYTES, LegalActions, ShogiVectorEnv
from keisei.shogi.positions import join_lists

#: In place of a mating action: there is none.
NO_MATE = -1


class Positions(NamedTuple):
    """B positions to move in, as `ShogiVectorEnv` gives them."""

    record: NDArray[np.uint8]  # [B, 96], in the mover's view
    #: Of each position; None: no moves at all, only the values of the answer mean something then.
    legal: LegalActions | None = None
    mate: NDArray[np.uint16] | None = None  # [B], the mating action or `NO_ACTION`; None: nowhere a mate

    @classmethod
    def of(cls, env: ShogiVectorEnv) -> Positions:
        return cls(env.records, env.legal, env.mate_in_one)

    def chosen(self, games: slice | NDArray[np.intp]) -> Positions:
        """Those of some games."""
        legal = None if self.legal is None else LegalActions(*(part[games] for part in self.legal))
        return Positions(self.record[games], legal, None if self.mate is None else self.mate[games])


class Place(NamedTuple):
    """Where answers stay on the device."""

    played: PlayedPositions
    ply: int
    #: [B]: another player was asked about all games; in these it is the one asked now that moves.
    games: NDArray[np.intp] | None = None


class Moves(NamedTuple):
    """What was chosen in B games."""

    action: NDArray[np.int32]  # [B]
    log_prob: NDArray[np.float32]  # [B], of the action among the legal ones
    value: NDArray[np.float32]  # [B], P(win) - P(loss) of the mover


class _Sent(NamedTuple):
    """An array of the host, and the one on the device that it is copied to."""

    host: Tensor
    device: Tensor

    @classmethod
    def zeros(cls, shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> _Sent:
        # From pinned memory the card fetches by itself.
        host = torch.zeros(shape, dtype=dtype, pin_memory=device.type == "cuda")
        return cls(host, torch.zeros(shape, dtype=dtype, device=device))

    def send(self, count: int) -> int:
        """Copy the first ``count``; how many bytes these are."""
        source = self.host[:count]
        self.device[:count].copy_(source, non_blocking=True)
        return source.nbytes


class DevicePlayer:
    """Chooses moves with a network in up to ``capacity`` positions at once, one question at a time.

    The network is asked about ``capacity`` positions always: places that a question leaves free hold what was there
    before, without legal moves.
    """

    def __init__(
        self,
        inference: Inference,
        capacity: int,
        *,
        temperature: float,
        seed: int,
        is_compiled: bool = False,
    ) -> None:
        self.inference = inference
        self.capacity = capacity
        self.temperature = temperature
        self.is_compiled = is_compiled
        device = inference.device
        self.generator = torch.Generator(device).manual_seed(seed)
        self._record = _Sent.zeros((capacity, RECORD_BYTES), torch.uint8, device)
        self._joined = _Sent.zeros((capacity * MAX_LEGAL_MOVES,), torch.int16, device)
        self._ends = _Sent.zeros((capacity,), torch.int32, device)
        self._mate = _Sent.zeros((capacity,), torch.int16, device)
        self._games = _Sent.zeros((capacity,), torch.int64, device)
        self._noise = torch.ones((capacity, inference.num_actions), device=device)
        self._answer_host = torch.zeros(
            (ANSWERS, capacity), dtype=torch.int32, pin_memory=device.type == "cuda"
        )
        self._asked = 0
        #: Bytes that were copied to the device.
        self.bytes_uploaded = 0
        self._choose = fused_on_gpu(_chosen, device) if is_compiled else _chosen
        self._card = _Card(self._think, self.generator) if device.type == "cuda" else None

    def ask(self, positions: Positions, place: Place | None = None) -> None:
        """Begin to think about no more than ``capacity`` positions, at least one; answers are kept in the ``place``."""
        lists_length = self._write_down(positions, place)
        if self._card is None:
            self._upload(lists_length, place)
            answer, legal = self._think()
            self._keep(place, answer, legal)
            self._answer_host.copy_(answer)
            return
        with self._card.uploading():
            self._upload(lists_length, place)
        answer, legal = self._card.think()
        self._keep(place, answer, legal)
        self._answer_host.copy_(answer, non_blocking=True)
        self._card.answered.record()

    def answer(self) -> Moves:
        """The moves; waits until they are chosen. The arrays are overwritten by the next answer."""
        if self._card is not None:
            self._card.answered.synchronize()
        answer = self._answer_host.numpy()[:, : self._asked]
        return Moves(answer[0], answer[1].view(np.float32), answer[2].view(np.float32))

    def values(self, records: NDArray[np.uint8]) -> NDArray[np.float32]:
        """float32 [K]: of positions uint8 [K, 96] of any origin, P(win) - P(loss) of the mover."""
        parts = []
        for start in range(0, len(records), self.capacity):
            self.ask(Positions(records[start : start + self.capacity]))
            parts.append(self.answer().value.copy())
        return np.concatenate(parts)

    def _write_down(self, positions: Positions, place: Place | None) -> int:
        """Put a question into the host's arrays; how long its legal lists are together."""
        count = self._asked = len(positions.record)
        self._record.host.numpy()[:count] = positions.record
        mates, ends = self._mate.host.numpy(), self._ends.host.numpy()
        mates.fill(NO_MATE)
        if positions.mate is not None:
            # Without a mate the number is the largest uint16, which is NO_MATE here.
            mates[:count] = positions.mate.view(np.int16)
        if place is not None and place.games is not None:
            self._games.host.numpy()[:count] = place.games
        if positions.legal is None:
            ends.fill(0)
            return 0
        length = len(join_lists(positions.legal, self._joined.host.numpy().view(np.uint16), ends[:count]))
        ends[count:] = length
        return length

    def _upload(self, lists_length: int, place: Place | None) -> None:
        sent = [(self._record, self._asked), (self._joined, lists_length)]
        sent += [(self._ends, self.capacity), (self._mate, self.capacity)]
        if place is not None and place.games is not None:
            sent.append((self._games, self._asked))
        self.bytes_uploaded += sum(array.send(count) for array, count in sent)

    def _think(self) -> tuple[Tensor, Tensor]:
        """int32 [3, B]: actions, and the bits of log-probabilities and values; then the legal actions as bits."""
        self._noise.exponential_(generator=self.generator)
        return self._choose(
            self.inference,
            self._record.device,
            self._joined.device,
            self._ends.device,
            self._mate.device,
            self._noise,
            self.temperature,
        )

    def _keep(self, place: Place | None, answer: Tensor, legal: Tensor) -> None:
        if place is None:
            return
        if place.games is None:
            place.played.write(place.ply, self._record.device, legal, answer)
        else:
            place.played.correct(place.ply, self._games.device[: self._asked], answer[:, : self._asked])


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
