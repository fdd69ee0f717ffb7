"""Those who can play a match. A player answers for many games at once, so that networks can work in batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
import torch

from keisei.core.inference import Inference
from keisei.core.sampling import draw_actions
from keisei.errors import ConfigError
from keisei.shogi import Move, Reason, ShogiGame
from keisei.shogi.many_games import moves_of_actions, pack_games
from keisei.shogi.notation.game_record import OutsideReason
from keisei.shogi.search import search_games


@dataclass(frozen=True)
class Closing:
    """The mover ends the game instead of moving: it gives up, declares a win, or has broken the match's rules.

    Every reason but a declaration is a loss; ``note`` says what happened in words.
    """

    reason: Reason | OutsideReason
    note: str = ""


Answer: TypeAlias = Move | Closing


class Player(Protocol):
    """Chooses a legal move in each of several running games, or closes the game."""

    @property
    def name(self) -> str: ...

    def choose(self, games: Sequence[ShogiGame]) -> Sequence[Answer]: ...


@runtime_checkable
class LimitedPlayer(Player, Protocol):
    """A player that gains nothing from more games at once than it says."""

    @property
    def games_at_once(self) -> int: ...


class _ByLot:
    """Draws one of several moves that count as equal."""

    def __init__(self, seed: int) -> None:
        self.generator = np.random.default_rng(seed)

    def _pick(self, moves: list[Move]) -> Move:
        return moves[int(self.generator.integers(len(moves)))]


class RandomPlayer(_ByLot):
    """Every legal move is equally likely."""

    name = "random"

    def choose(self, games: Sequence[ShogiGame]) -> list[Move]:
        return [self._pick(game.legal_moves()) for game in games]


class MateInOnePlayer(_ByLot):
    """Mates in one where it can, allows no mate in one where it can be avoided, and is random otherwise."""

    name = "mate1"

    def choose(self, games: Sequence[ShogiGame]) -> list[Move]:
        return [game.mate_in_one() or self._pick(game.moves_without_mating_reply()) for game in games]


class GreedyPlayer(_ByLot):
    """Mates in one where it can, else takes the most material at once; ties are drawn by lot."""

    name = "greedy"

    def choose(self, games: Sequence[ShogiGame]) -> list[Move]:
        return [game.mate_in_one() or self._pick(game.greediest_moves()) for game in games]


class AlphaBetaPlayer:
    """The native alpha-beta search to a fixed depth; the seed breaks near-ties."""

    def __init__(self, depth: int, seed: int) -> None:
        self.name = f"ab{depth}"
        self._depth = depth
        self._seed = seed

    def choose(self, games: Sequence[ShogiGame]) -> list[Move]:
        return [found.move for found in search_games(games, self._depth, seed=self._seed)]


class PolicyPlayer:
    """A network's policy without search: its likeliest move, or one drawn at a temperature above 0."""

    def __init__(self, name: str, inference: Inference, *, temperature: float = 0.0, seed: int = 0) -> None:
        self.name = name
        self._inference = inference
        self._temperature = temperature
        self.generator = torch.Generator().manual_seed(seed)

    def choose(self, games: Sequence[ShogiGame]) -> list[Move]:
        log_probs = self._inference.evaluate(pack_games(games)).log_probs.cpu()
        if self._temperature > 0:
            actions = draw_actions(log_probs / self._temperature, self.generator)
        else:
            actions = log_probs.argmax(dim=1)
        return moves_of_actions(games, self._inference.num_actions, actions.numpy())


DEEPEST_ALPHA_BETA = 6

FIXED_PLAYERS: Mapping[str, Callable[[int], Player]] = {
    "random": RandomPlayer,
    "mate1": MateInOnePlayer,
    "greedy": GreedyPlayer,
    **{f"ab{depth}": partial(AlphaBetaPlayer, depth) for depth in range(1, DEEPEST_ALPHA_BETA + 1)},
}


def fixed_player(name: str, seed: int) -> Player:
    """An opponent that never changes, by name."""
    if name not in FIXED_PLAYERS:
        raise ConfigError(f"unknown opponent {name!r}; use one of {list(FIXED_PLAYERS)}")
    return FIXED_PLAYERS[name](seed)
