"""What one ply leaves behind: the columns that are recorded in play, and those that learning adds.

Every number is in the view of the player who makes the ply (the mover). ``T`` plies of ``N`` games side by
side are a rollout ``[T, N]``; the rows of one game lie in one column of it, in the order of play.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from keisei.core.columns import Bools, ColumnTable, Float32s, Int32s, Int64s, PerRow
from keisei.shogi import RECORD_BYTES

UNKNOWN = -1

Records = Annotated[NDArray[np.uint8], PerRow(np.dtype(np.uint8), (RECORD_BYTES,))]


@dataclass(frozen=True, slots=True, eq=False)
class RolloutRows(ColumnTable):
    """Rows of self-play as they are recorded, sent and buffered; leading shape ``[T, N]`` or ``[rows]``."""

    # The packed position before the ply, mirrored if its game is; it implies the planes and the legal moves.
    record: Records
    # A number that no other game of the run has.
    game: Int64s
    # The action that was played, in the frame of ``record``.
    action: Int32s
    # The version of the weights that chose it.
    version: Int32s
    # The natural logarithm of its probability among the legal actions.
    log_prob: Float32s
    # P(win) - P(loss) before the ply.
    value: Float32s
    # The value of the position after the ply in the view of ITS mover, that is the other player. Read where a
    # game is truncated (of its true final position) and in the last row of a rollout; ignored elsewhere.
    next_value: Float32s
    # +1 if the ply won the game, -1 if it lost it, else 0.
    reward: Float32s
    # The rules ended the game with this ply.
    terminated: Bools
    # The ply cap cut the game off after this ply.
    truncated: Bools
    # The learner chose the ply; a frozen opponent's plies are not learned from.
    learner: Bools
    # The engine played a mate in one; it is imitated and has no part in the policy gradient.
    forced: Bools

    def ends(self) -> NDArray[np.bool_]:
        """Where the next row of the same column belongs to another game."""
        return self.terminated | self.truncated


@dataclass(frozen=True, slots=True, eq=False)
class RowTargets(ColumnTable):
    """What each row is taught, in the leading shape of its rows; only the learner's rows are ever read."""

    # How much better the action was than expected; normalised over the rows of the policy gradient.
    advantage: Float32s
    # What the value should have been, in -1..1.
    value: Float32s
    # How much of the outcome is known to be a draw, in 0..1.
    draw: Float32s
    # For the auxiliary heads, in the units of ``auxiliary_targets``.
    material: Float32s
    # UNKNOWN where the rollout does not hold the game's end, or the reply.
    moves_left: Float32s
    reply: Int32s
