"""Moves as the numbers that a network's policy speaks of.

Both mappings are mover-relative: for White the board is rotated by 180 degrees, as in the observation.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from keisei.shogi import _native
from keisei.shogi.game import ShogiGame
from keisei.shogi.move import Move
from keisei.shogi.types import Color

FULL_ACTIONS: Final = 13_527
COMPACT_ACTIONS: Final = 2_187


def action_count(actions: str | int) -> int:
    """The size of a mapping given by name."""
    if str(actions) not in (str(COMPACT_ACTIONS), str(FULL_ACTIONS)):
        raise ValueError(f"actions must be '{COMPACT_ACTIONS}' or '{FULL_ACTIONS}', not {actions!r}")
    return int(actions)


class PolicyOutputMapper:
    """Move to policy index and back, and masks of the legal ones.

    >>> mapper = PolicyOutputMapper("2187")
    >>> game = ShogiGame()
    >>> index = mapper.move_to_index(Move.from_usi("7g7f"), game.turn)
    >>> mapper.index_to_move(index, game).usi, int(mapper.legal_mask(game).sum())
    ('7g7f', 30)
    """

    def __init__(self, actions: str | int = FULL_ACTIONS) -> None:
        self.num_actions = action_count(actions)
        self._mirror = np.array(_native.mirror_table(self.num_actions), np.uint16)
        self._mirror.flags.writeable = False

    def move_to_index(self, move: Move | str, turn: Color) -> int:
        """The index of a move played by ``turn``. Raises ActionError for a move of no piece's shape."""
        move = Move.from_usi(move) if isinstance(move, str) else move
        return _native.action_of_move(self.num_actions, move.code, turn)

    def index_to_move(self, index: int, game: ShogiGame) -> Move:
        """The legal move that an index names in a position; ActionError when it names none."""
        return Move(game._game.move_of_action(self.num_actions, int(index)))

    def moves_to_indices(self, moves: Sequence[Move], turn: Color) -> npt.NDArray[np.int32]:
        """int32 [len(moves)]."""
        return np.array([self.move_to_index(move, turn) for move in moves], np.int32)

    def indices_to_moves(
        self, indices: npt.NDArray[np.integer] | Sequence[int], game: ShogiGame
    ) -> list[Move]:
        return [self.index_to_move(int(index), game) for index in indices]

    def legal_indices(self, game: ShogiGame) -> npt.NDArray[np.uint16]:
        """uint16 [number of legal moves], in the engine's order."""
        return np.array(game._game.legal_actions(self.num_actions), np.uint16)

    def legal_mask(self, game: ShogiGame) -> npt.NDArray[np.bool_]:
        """bool [num_actions]."""
        mask = np.zeros(self.num_actions, np.bool_)
        mask[self.legal_indices(game)] = True
        return mask

    @property
    def flip_table(self) -> npt.NDArray[np.uint16]:
        """uint16 [num_actions]: the index of each action's left-right mirror image."""
        return self._mirror

    def flip_indices(self, indices: npt.NDArray[np.integer]) -> npt.NDArray[np.uint16]:
        """The mirror images of an array of indices, of any shape."""
        flipped: npt.NDArray[np.uint16] = self._mirror[indices]
        return flipped
