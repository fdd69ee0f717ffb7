"""The rows that one update learns from, preallocated once and reused.

Rollouts are copied in whole, column by column; no Python object exists per row. Each rollout stays a block of
its own, so the advantages of one never read the rows of another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keisei.core.advantages import Total, draw_mass, normalise_advantages, two_player_gae
from keisei.core.auxiliary_targets import material_targets, moves_left_targets, reply_targets
from keisei.core.rollout_rows import RolloutRows, RowTargets
from keisei.errors import ExperienceError

if TYPE_CHECKING:
    from keisei.core.played_positions import PlayedPositions

ROLLOUT_DIMENSIONS = 2


class Block(NamedTuple):
    """One rollout in the buffer: ``plies * games`` rows from ``start``, ply by ply."""

    start: int
    plies: int
    games: int

    @property
    def rows(self) -> slice:
        return slice(self.start, self.start + self.plies * self.games)


class Horizon(NamedTuple):
    """How far targets look ahead."""

    gamma: float
    lam: float


class ExperienceBuffer:
    """Up to ``capacity`` rows with their targets, as flat arrays ``[capacity, …]`` of which ``size`` are
    filled.
    """

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ExperienceError(f"expected room for at least 1 row, got capacity {capacity!r}")
        self.capacity = capacity
        self._rows = RolloutRows.allocate(capacity)
        self._targets = RowTargets.allocate(capacity)
        self._blocks: list[Block] = []
        #: The positions of all rows on the device that played them, in the order of the rows, where one did.
        self.played: PlayedPositions | None = None
        self.horizon: Horizon | None = None
        self._threads = 1
        self._total: Total | None = None
        self._has_targets = False

    def __len__(self) -> int:
        return self._blocks[-1].rows.stop if self._blocks else 0

    @property
    def rows(self) -> RolloutRows:
        """The filled rows, a view ``[size, …]``."""
        return self._rows[: len(self)]

    @property
    def targets(self) -> RowTargets:
        """Their targets, a view ``[size]``; valid after ``compute_targets``."""
        self.fill_targets()
        return self._targets[: len(self)]

    @property
    def bytes_per_row(self) -> int:
        """Bytes that a buffered ply takes, targets included."""
        return RolloutRows.bytes_per_row() + RowTargets.bytes_per_row()

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        tables = (self._rows, self._targets)
        return sum(array.nbytes for table in tables for array in table.arrays().values())

    def add_batch(self, rows: RolloutRows) -> None:
        """Append a rollout ``[T, N]``: one copy per column."""
        _check_rollout(rows)
        self._append(rows.reshape(rows.action.size), *rows.action.shape)

    def room(self, plies: int, games: int) -> RolloutRows:
        """Rows ``[T, N]`` behind the filled ones, to be written in place; `take_in` then appends them."""
        return self._rows[self._room(plies, games).rows].reshape(plies, games)

    def take_in(self, plies: int, games: int, played: PlayedPositions) -> None:
        """Append the rollout that was written into the `room`; ``played`` are its positions on a device."""
        _check_rollout(self.room(plies, games))
        self.played = played if not self._blocks else None
        self._blocks.append(self._room(plies, games))

    def merge_buffers(self, buffers: Iterable[ExperienceBuffer]) -> None:
        """Append the rollouts of other buffers, each as a block of its own."""
        for buffer in buffers:
            for block in buffer._blocks:
                self._append(buffer._rows[block.rows], block.plies, block.games)

    def clear(self) -> None:
        """Forget all rows; the memory stays."""
        self._blocks.clear()
        self.played = None
        self.horizon = None

    def compute_targets(
        self, *, gamma: float, lam: float, num_threads: int = 1, total: Total | None = None
    ) -> None:
        """Say how the targets of all rows are computed; they are when somebody looks.

        Advantages are normalised over the rows of the policy gradient, those of other processes too where ``total``
        adds up over them. A GPU that has the positions computes its own.
        """
        self.horizon = Horizon(gamma, lam)
        self._threads = num_threads
        self._total = total
        self._has_targets = False

    def fill_targets(self) -> None:
        """Compute the targets now, unless they are there."""
        if self.horizon is not None and not self._has_targets:
            self._fill_targets(self.horizon)

    def _fill_targets(self, horizon: Horizon) -> None:
        for block in self._blocks:
            rows = self._rows[block.rows].reshape(block.plies, block.games)
            targets = _targets_of(rows, horizon, self._threads)
            self._targets[block.rows] = targets.reshape(block.plies * block.games)
        rows, advantage = self.rows, self._targets[: len(self)].advantage
        advantage[:] = normalise_advantages(advantage, rows.learner & ~rows.forced, self._total)
        self._has_targets = True

    def minibatch_count(self, size: int) -> int:
        """How many `minibatches` one epoch has."""
        rows = int(np.count_nonzero(self.rows.learner))
        return rows // size or min(rows, 1)

    def minibatches(self, size: int, generator: np.random.Generator) -> Iterator[NDArray[np.intp]]:
        """Indices of the learner's rows in random order, ``size`` at a time: one epoch.

        All minibatches have the same size, so that compiled code sees one shape: what is left over at the end
        sits this epoch out. Only where there are fewer than ``size`` rows in all, they make one smaller
        minibatch.
        """
        indices = generator.permutation(np.flatnonzero(self.rows.learner))
        if 0 < len(indices) < size:
            yield indices
        for start in range(0, len(indices) - size + 1, size):
            yield indices[start : start + size]

    def _append(self, rows: RolloutRows, plies: int, games: int) -> None:
        block = self._room(plies, games)
        self.played = None
        self._rows[block.rows] = rows
        self._blocks.append(block)

    def _room(self, plies: int, games: int) -> Block:
        block = Block(len(self), plies, games)
        if block.rows.stop > self.capacity:
            raise ExperienceError(
                f"no room for {plies} × {games} rows: {len(self)} of {self.capacity} are taken; "
                "clear the buffer or make its capacity larger"
            )
        return block


def _targets_of(rows: RolloutRows, horizon: Horizon, num_threads: int) -> RowTargets:
    """The targets of one rollout ``[T, N]``, advantages not yet normalised."""
    gae = two_player_gae(
        rows.reward,
        rows.value,
        rows.next_value,
        rows.terminated,
        rows.truncated,
        rows.learner,
        gamma=horizon.gamma,
        lam=horizon.lam,
    )
    return RowTargets(
        advantage=gae.advantages.astype(np.float32),
        value=gae.returns.astype(np.float32),
        draw=draw_mass(rows.reward, rows.terminated, rows.truncated, lam=horizon.lam).astype(np.float32),
        material=material_targets(rows, num_threads=num_threads),
        moves_left=moves_left_targets(rows),
        reply=reply_targets(rows),
    )


def _check_rollout(rows: RolloutRows) -> None:
    """Refuse a rollout whose shape or game numbers contradict its ends: its advantages would mix games."""
    shape = rows.action.shape
    if len(shape) != ROLLOUT_DIMENSIONS or 0 in shape:
        raise ExperienceError(f"expected rows [T, N] with at least one row, got the leading shape {shape!r}")
    both = rows.terminated & rows.truncated
    if both.any():
        ply, game = np.argwhere(both)[0]
        raise ExperienceError(f"row [{ply}, {game}] is both terminated and truncated; the rules come first")
    same_game = rows.game[1:] == rows.game[:-1]
    wrong = same_game == rows.ends()[:-1]
    if wrong.any():
        ply, game = np.argwhere(wrong)[0]
        raise ExperienceError(
            f"rows [{ply}, {game}] and [{ply + 1}, {game}] belong to games {rows.game[ply, game]} and "
            f"{rows.game[ply + 1, game]}, but the first has ends = {bool(rows.ends()[ply, game])}; "
            "number each game once and mark its last row"
        )
