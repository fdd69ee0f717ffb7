"""Gumbel search in plain Python, one simulation after the other: the oracle for the native trees.

Written from the paper's formulas, with all moves of a node in one dictionary. It has no noise and proves nothing, so it
is for positions in which the rules decide nothing within its reach.
"""

import math
import zlib
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from keisei.shogi import Move, PolicyOutputMapper, ShogiGame

VISIT_OFFSET = 50
Judge = Callable[[bytes], tuple[npt.NDArray[np.float32], float]]


def random_judge(record: bytes) -> tuple[npt.NDArray[np.float32], float]:
    """Logits of the 2,187 actions and a value that look random but depend on the position alone."""
    random = np.random.default_rng(zlib.crc32(record))
    return random.standard_normal(2187).astype(np.float32), float(np.float32(random.uniform(-1, 1)))


class PlainNode:
    """A position, its moves, and what was found below each of them."""

    def __init__(self, game: ShogiGame, judge: Judge) -> None:
        mapper = PolicyOutputMapper(2187)
        logits, self.value = judge(game.pack())
        moves = game.legal_moves()
        chosen = np.array([logits[mapper.move_to_index(move, game.turn)] for move in moves], np.float64)
        chosen -= chosen.max()
        chosen -= math.log(np.exp(chosen).sum())
        self.game = game
        self.judge = judge
        self.log_prior = dict(zip(moves, chosen.tolist(), strict=True))
        self.children: dict[Move, PlainNode] = {}
        self.visits = 1
        self.value_sum = self.value

    def visit(self, move: Move | None = None) -> float:
        """One simulation through a move, or through the one that lags most; returns its value for the mover."""
        move = self.lagging_move() if move is None else move
        if move in self.children:
            value = -self.children[move].visit()
        else:
            after = self.game.copy()
            after.play(move)
            self.children[move] = PlainNode(after, self.judge)
            value = -self.children[move].value
        self.visits += 1
        self.value_sum += value
        return value

    def mean(self, move: Move) -> float:
        return -self.children[move].value_sum / self.children[move].visits

    def visits_of(self, move: Move) -> int:
        return self.children[move].visits if move in self.children else 0

    def scores(self) -> dict[Move, float]:
        """The logits of the improved policy."""
        most = max(map(self.visits_of, self.log_prior))
        visits = sum(map(self.visits_of, self.log_prior))
        prior = {move: math.exp(self.log_prior[move]) for move in self.children}
        mixed = self.value
        if self.children:
            shown = sum(prior[move] * self.mean(move) for move in prior) / sum(prior.values())
            mixed = (self.value + visits * shown) / (1 + visits)
        completed = {move: self.mean(move) if move in self.children else mixed for move in self.log_prior}
        weight = VISIT_OFFSET + most
        return {move: self.log_prior[move] + weight * (1 + completed[move]) / 2 for move in self.log_prior}

    def lagging_move(self) -> Move:
        scores = self.scores()
        top = max(scores.values())
        weights = {move: math.exp(score - top) for move, score in scores.items()}
        total, visits = sum(weights.values()), sum(map(self.visits_of, scores))
        return max(scores, key=lambda move: weights[move] / total - self.visits_of(move) / (1 + visits))


def plain_search(game: ShogiGame, simulations: int, judge: Judge, considered: int = 16) -> PlainNode:
    """Sequential halving over the root's likeliest moves."""
    root = PlainNode(game, judge)
    moves = sorted(root.log_prior, key=root.log_prior.__getitem__, reverse=True)[
        : min(considered, simulations)
    ]
    phases = max(1, math.ceil(math.log2(len(moves))))
    spent = 0
    while spent < simulations:
        for _ in range(max(1, simulations // (phases * len(moves)))):
            for move in moves[: simulations - spent]:
                root.visit(move)
                spent += 1
        scores = root.scores()
        moves = sorted(moves, key=scores.__getitem__, reverse=True)[: max(2, len(moves) // 2)]
    return root
