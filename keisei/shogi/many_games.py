"""Many games in one native call: what matches do with every ply of every game."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from keisei.shogi import _native
from keisei.shogi.arrays import as_actions
from keisei.shogi.game import ShogiGame
from keisei.shogi.move import Move
from keisei.shogi.policy import action_count
from keisei.shogi.positions import RECORD_BYTES, Records


def pack_games(games: Sequence[ShogiGame]) -> Records:
    """uint8 [B, 96]: each game as `ShogiGame.pack` gives it."""
    records = np.empty((len(games), RECORD_BYTES), np.uint8)
    _native.pack_games([game._game for game in games], records)
    return records


def moves_of_actions(
    games: Sequence[ShogiGame], actions: str | int, indices: npt.NDArray[np.integer]
) -> list[Move]:
    """The legal move that each index names in its game; ActionError when one names none."""
    codes = _native.moves_of_actions(
        [game._game for game in games], action_count(actions), as_actions(indices)
    )
    return [Move(code) for code in codes]


def play_moves(games: Sequence[ShogiGame], moves: Sequence[Move], *, declare: bool) -> list[bool]:
    """Plays one move in each game; returns which games are over.

    With ``declare``, whoever is to move then and may declare a win does. An illegal move raises IllegalMoveError; the
    games before it have been played on.
    """
    return _native.play_moves([game._game for game in games], [move.code for move in moves], declare)
