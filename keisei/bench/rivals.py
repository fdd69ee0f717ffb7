"""Board libraries driven from Python, each in the quickest loop its own interface allows.

The loops look alike but are written out for each library: a shared loop would pay a Python call for every
ply and slow the fast ones down. No rival is asked for what our environment does on top (repetition,
declarations, packed records). A game ends at mate or at the ply cap.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from random import Random
from typing import Any

from keisei.bench.batched_rivals import EnvPool, OpenSpiel, Pgx
from keisei.bench.fairy_stockfish import FairyStockfish
from keisei.bench.measurement import (
    Budget,
    Contestant,
    Measurement,
    Work,
    Workload,
    measure_for,
    missing,
)

MAX_PLIES = 512
PLIES_PER_STEP = 256  # between two looks at the clock
POLICY_OUTPUTS = 2187


class Cshogi:
    """cshogi: C++ behind Cython; moves are plain integers."""

    name = "cshogi"

    def available(self) -> str | None:
        return missing("cshogi", "cshogi")

    def workloads(self) -> Mapping[Workload, Work]:
        return {
            Workload.PERFT: self.perft,
            Workload.MOVE_LISTS: self.play,
            Workload.PLANES: self.play_with_planes,
        }

    def perft(self, budget: Budget) -> Measurement:
        cshogi: Any = importlib.import_module("cshogi")
        board, legal_moves = cshogi.Board(), cshogi.LegalMoveList
        push, pop = board.push, board.pop

        def count(depth: int) -> int:
            if depth == 1:
                return len(legal_moves(board))  # counted in C++, no list is made
            nodes = 0
            for move in legal_moves(board):
                push(move)
                nodes += count(depth - 1)
                pop()
            return nodes

        return measure_for(budget.seconds, lambda: count(budget.perft_depth))

    def play(self, budget: Budget) -> Measurement:
        cshogi: Any = importlib.import_module("cshogi")
        board, legal_moves, random = cshogi.Board(), cshogi.LegalMoveList, Random(budget.seed).random
        push, reset, ply = board.push, board.reset, 0

        def step() -> int:
            nonlocal ply
            played = 0
            for _ in range(PLIES_PER_STEP):
                moves = [*legal_moves(board)]
                if moves and ply < MAX_PLIES:
                    push(moves[int(random() * len(moves))])
                    ply += 1
                    played += 1
                else:
                    reset()
                    ply = 0
            return played

        return measure_for(budget.seconds, step)

    def play_with_planes(self, budget: Budget) -> Measurement:
        """Its complete network input (62 + 57 planes) and the mask over its 2,187 move labels."""
        import numpy as np

        cshogi: Any = importlib.import_module("cshogi")
        dlshogi: Any = importlib.import_module("cshogi.dlshogi")
        board, legal_moves, random = cshogi.Board(), cshogi.LegalMoveList, Random(budget.seed).random
        make_features, label = dlshogi.make_input_features, dlshogi.make_move_label
        planes1 = np.empty((dlshogi.FEATURES1_NUM, 9, 9), np.float32)
        planes2 = np.empty((dlshogi.FEATURES2_NUM, 9, 9), np.float32)
        # Item by item into a bytearray (a view of which is the boolean mask) beats indexing NumPy by a list.
        mask, nothing, ply = bytearray(POLICY_OUTPUTS), bytes(POLICY_OUTPUTS), 0

        def step() -> int:
            nonlocal ply
            played = 0
            for _ in range(PLIES_PER_STEP):
                moves, turn = [*legal_moves(board)], board.turn
                make_features(board, planes1, planes2)
                mask[:] = nothing
                for move in moves:
                    mask[label(move, turn)] = 1
                if moves and ply < MAX_PLIES:
                    board.push(moves[int(random() * len(moves))])
                    ply += 1
                    played += 1
                else:
                    board.reset()
                    ply = 0
            return played

        return measure_for(budget.seconds, step)


class Rsshogi:
    """rsshogi: Rust behind PyO3; it has no observation planes."""

    name = "rsshogi"

    def available(self) -> str | None:
        return missing("rsshogi", "rsshogi")

    def workloads(self) -> Mapping[Workload, Work]:
        return {Workload.PERFT: self.perft, Workload.MOVE_LISTS: self.play}

    def perft(self, budget: Budget) -> Measurement:
        board: Any = importlib.import_module("rsshogi.core").Board()
        legal_moves, push, pop = board.legal_moves, board.push_move, board.pop

        def count(depth: int) -> int:
            moves = legal_moves()
            if depth == 1:
                return len(moves)
            nodes = 0
            for move in moves:
                push(move)
                nodes += count(depth - 1)
                pop()
            return nodes

        return measure_for(budget.seconds, lambda: count(budget.perft_depth))

    def play(self, budget: Budget) -> Measurement:
        board: Any = importlib.import_module("rsshogi.core").Board()
        legal_moves, apply, reset = board.legal_moves, board.apply_move, board.reset
        random, ply = Random(budget.seed).random, 0

        def step() -> int:
            nonlocal ply
            played = 0
            for _ in range(PLIES_PER_STEP):
                moves = legal_moves()
                if moves and ply < MAX_PLIES:
                    apply(moves[int(random() * len(moves))])
                    ply += 1
                    played += 1
                else:
                    reset()
                    ply = 0
            return played

        return measure_for(budget.seconds, step)


class PythonShogi:
    """python-shogi: pure Python; it has no observation planes."""

    name = "python-shogi"
    deepest_perft = 3  # depth 5 would take minutes; nodes a second hardly depend on the depth

    def available(self) -> str | None:
        return missing("shogi", "python-shogi")

    def workloads(self) -> Mapping[Workload, Work]:
        return {Workload.PERFT: self.perft, Workload.MOVE_LISTS: self.play}

    def perft(self, budget: Budget) -> Measurement:
        board: Any = importlib.import_module("shogi").Board()

        def count(depth: int) -> int:
            if depth == 1:
                return sum(1 for _ in board.legal_moves)
            nodes = 0
            for move in board.legal_moves:
                board.push(move)
                nodes += count(depth - 1)
                board.pop()
            return nodes

        return measure_for(budget.seconds, lambda: count(min(budget.perft_depth, self.deepest_perft)))

    def play(self, budget: Budget) -> Measurement:
        board: Any = importlib.import_module("shogi").Board()
        random, ply = Random(budget.seed).random, 0

        def step() -> int:
            nonlocal ply
            moves = list(board.legal_moves)
            if not moves or ply >= MAX_PLIES:
                board.reset()
                ply = 0
                return 0
            board.push(moves[int(random() * len(moves))])
            ply += 1
            return 1

        return measure_for(budget.seconds, step)


RIVALS: tuple[Contestant, ...] = (
    Cshogi(),
    Rsshogi(),
    PythonShogi(),
    OpenSpiel(),
    EnvPool(),
    Pgx(),
    FairyStockfish(),
)
