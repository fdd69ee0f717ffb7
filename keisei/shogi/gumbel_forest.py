"""Gumbel search without its network: trees in native code that ask for positions to be judged, and grow by the answers.

`keisei.evaluation.gumbel_search` brings the network. The rules' verdicts (mates, repetition, declarations, the ply cap)
are exact and need no network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from keisei.shogi import _native
from keisei.shogi.game import ShogiGame
from keisei.shogi.move import Move
from keisei.shogi.policy import action_count
from keisei.shogi.positions import RECORD_BYTES, Records

_SEED_MASK = 0xFFFF_FFFF_FFFF_FFFF


class Verdict(IntEnum):
    """What is proven for the side to move."""

    OPEN = 0
    WIN = 1
    DRAW = 2
    LOSS = 3


class RootMove(NamedTuple):
    """A move at the root and what the search knows of it, in the view of the root's mover."""

    move: Move
    visits: int
    value: float  # -1..1; an estimate from the other moves where there are no visits
    prior: float  # the policy's probability
    verdict: Verdict
    plies: int  # to the end of the game where the verdict is proven, else 0


@dataclass(frozen=True)
class GumbelSettings:
    """How trees are grown. The defaults are those of the paper for board games."""

    #: Root moves that sequential halving begins with.
    max_considered: int = 16
    #: Weight of values against the policy (c_scale, for values in 0..1).
    value_scale: float = 1.0
    #: Leaves in one batch below one root move. With 1, batching changes nothing in what is found.
    leaves_per_move: int = 1
    #: 0 searches without noise; any other seed adds Gumbel noise at the root, the same for the same position.
    seed: int = 0
    #: A mover who may declare a win has won.
    declare: bool = True


DEFAULT_SETTINGS = GumbelSettings()


class GumbelForest:
    """One tree for each of several games. Not to be used by two threads at once."""

    def __init__(
        self,
        games: Sequence[ShogiGame],
        actions: str | int,
        settings: GumbelSettings = DEFAULT_SETTINGS,
        *,
        only: Sequence[Move] = (),
        num_threads: int = 1,
    ) -> None:
        """``only`` restricts the roots to these moves; none means all."""
        for name in ("max_considered", "leaves_per_move"):
            if getattr(settings, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(settings, name)!r}")
        self._forest = _native.GumbelForest(
            [game._game for game in games],
            action_count(actions),
            settings.max_considered,
            settings.leaves_per_move,
            settings.value_scale,
            settings.seed != 0,
            settings.seed & _SEED_MASK,
            settings.declare,
            [move.code for move in only],
            num_threads,
        )
        self._records = np.empty((0, RECORD_BYTES), np.uint8)

    def __len__(self) -> int:
        return len(self._forest)

    def add_simulations(self, simulations: int) -> None:
        """Grants every tree more simulations; sequential halving spends each grant as one budget."""
        if simulations < 0:
            raise ValueError(f"simulations must be at least 0, not {simulations!r}")
        self._forest.add_simulations(simulations)

    def select(self, leaves_per_tree: int) -> Records:
        """The positions to be judged next, uint8 [B, 96]; none when all trees are finished.

        The rows are overwritten by the next selection. `expand` must answer them first.
        """
        if leaves_per_tree < 1:
            raise ValueError(f"leaves_per_tree must be at least 1, not {leaves_per_tree!r}")
        rows = len(self) * leaves_per_tree
        if len(self._records) != rows:
            self._records = np.empty((rows, RECORD_BYTES), np.uint8)
        return self._records[: self._forest.select(leaves_per_tree, self._records)]

    def expand(self, logits: npt.NDArray[np.float32], values: npt.NDArray[np.float32]) -> None:
        """Answers the selected positions: logits [B, actions], values [B] in -1..1, all in the mover's view."""
        self._forest.expand(logits, values)

    def is_finished(self, tree: int) -> bool:
        """All simulations are spent, or the root's outcome is proven."""
        return self._forest.finished(tree)

    def visits(self, tree: int) -> int:
        """Simulations so far, the root's own visit included."""
        return self._forest.visits(tree)

    def root_moves(self, tree: int) -> list[RootMove]:
        """Best first; none before the root's position was judged, or where there is no legal move."""
        return [
            RootMove(Move(code), visits, value, prior, Verdict(verdict), plies)
            for code, visits, value, prior, verdict, plies in self._forest.root_moves(tree)
        ]

    def line(self, tree: int, move: Move) -> list[Move]:
        """The expected continuation that begins with a root move."""
        return [Move(code) for code in self._forest.line(tree, move.code)]

    @property
    def bytes(self) -> int:
        """Memory of all trees."""
        return self._forest.bytes
