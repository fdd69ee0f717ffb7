"""Those who can play a match. A player answers for many games at once, so that networks can work in batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import torch

from keisei.core.inference import Inference
from keisei.core.sampling import draw_actions
from keisei.errors import ConfigError
from keisei.shogi import Move, PolicyOutputMapper, ShogiGame
from keisei.shogi.positions import RECORD_BYTES


class Player(Protocol):
    """Chooses a legal move in each of several running games."""

    @property
    def name(self) -> str: ...

    def choose(self, games: Sequence[ShogiGame]) -> list[Move]: ...


class RandomPlayer:
    """Every legal move is equally likely."""

    name = "random"

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def choose(self, games: Sequence[ShogiGame]) -> list[Move]:
        return [self._pick(game.legal_moves()) for game in games]

    def _pick(self, moves: list[Move]) -> Move:
        return moves[int(self._random.integers(len(moves)))]


class GreedyPlayer:
    """Mates in one where it can, else takes the most material at once; ties are drawn by lot."""

    name = "greedy"

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def choose(self, games: Sequence[ShogiGame]) -> list[Move]:
        return [game.mate_in_one() or self._pick(game.greediest_moves()) for game in games]

    def _pick(self, moves: list[Move]) -> Move:
        return moves[int(self._random.integers(len(moves)))]


class PolicyPlayer:
    """A network's policy without search: its likeliest move, or one drawn at a temperature above 0."""

    def __init__(self, name: str, inference: Inference, *, temperature: float = 0.0, seed: int = 0) -> None:
        self.name = name
        self._inference = inference
        self._mapper = PolicyOutputMapper(inference.num_actions)
        self._temperature = temperature
        self._generator = torch.Generator().manual_seed(seed)

    def choose(self, games: Sequence[ShogiGame]) -> list[Move]:
        packed = b"".join(game.pack() for game in games)
        records = np.frombuffer(packed, np.uint8).reshape(len(games), RECORD_BYTES)
        log_probs = self._inference.evaluate(records).log_probs.cpu()
        if self._temperature > 0:
            actions = draw_actions(log_probs / self._temperature, self._generator)
        else:
            actions = log_probs.argmax(dim=1)
        return [
            self._mapper.index_to_move(action, game)
            for action, game in zip(actions.tolist(), games, strict=True)
        ]


FIXED_PLAYERS: dict[str, Callable[[int], Player]] = {"random": RandomPlayer, "greedy": GreedyPlayer}


def fixed_player(name: str, seed: int) -> Player:
    """An opponent that never changes, by name."""
    if name not in FIXED_PLAYERS:
        raise ConfigError(f"unknown opponent {name!r}; use one of {sorted(FIXED_PLAYERS)}")
    return FIXED_PLAYERS[name](seed)
