"""Targets of the auxiliary heads against slow references on random rollouts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rollout_samples import random_rollout

from keisei.core.auxiliary_targets import (
    MATERIAL_HORIZON_PLIES,
    MATERIAL_SCALE,
    MOVES_LEFT_SCALE_PLIES,
    PIECE_VALUE,
    material_balance,
    material_targets,
    moves_left_targets,
    reply_targets,
)
from keisei.core.rollout_rows import UNKNOWN, RolloutRows
from keisei.shogi import RECORD_BYTES, ShogiGame

PAWN, LANCE, KNIGHT, SILVER, GOLD, BISHOP, ROOK, KING = range(8)
PROMOTED_ROOK = 13
MOVERS, OPPONENTS = 1, 15

rollouts = st.builds(
    random_rollout, seed=st.integers(0, 2**32 - 1), plies=st.integers(1, 30), games=st.integers(1, 3)
)


def record(
    board: dict[int, int], movers_hand: tuple[int, ...], opponents_hand: tuple[int, ...]
) -> np.ndarray:
    packed = np.zeros(RECORD_BYTES, np.uint8)
    for square, code in board.items():
        packed[square] = code
    for offset, hand in ((81, movers_hand), (85, opponents_hand)):
        pawns, lances, knights, silvers, golds, bishops, rooks = hand
        packed[offset : offset + 4] = (
            pawns,
            lances | knights << 4,
            silvers | golds << 4,
            bishops | rooks << 4,
        )
    return packed


def test_material_counts_board_and_both_hands() -> None:
    board = {0: MOVERS + KING, 80: OPPONENTS + KING, 9: MOVERS + PROMOTED_ROOK, 40: OPPONENTS + GOLD}
    packed = record(board, (18, 0, 0, 4, 0, 2, 0), (0, 3, 1, 0, 2, 0, 1))
    value = PIECE_VALUE
    expected = value[PROMOTED_ROOK] - value[GOLD] + 18 * value[PAWN] + 4 * value[SILVER] + 2 * value[BISHOP]
    expected -= 3 * value[LANCE] + value[KNIGHT] + 2 * value[GOLD] + value[ROOK]
    assert material_balance(packed) == expected


def test_material_agrees_with_the_engine() -> None:
    generator = np.random.default_rng(5)
    game = ShogiGame()
    for _ in range(150):
        packed = np.frombuffer(game.pack(), np.uint8)
        assert material_balance(packed) == game.material(game.turn)
        moves = game.legal_moves()
        if game.outcome is not None or not moves:
            game.reset()
            continue
        game.make_move(moves[generator.integers(len(moves))])


def last_row(rows: RolloutRows, ply: int, game: int) -> int:
    while not rows.ends()[ply, game] and ply + 1 < len(rows.action):
        ply += 1
    return ply


@settings(max_examples=50)
@given(rollouts)
def test_material_is_the_movers_a_few_plies_later(rows: RolloutRows) -> None:
    targets = material_targets(rows)
    for ply, game in np.ndindex(rows.action.shape):
        later = min(ply + MATERIAL_HORIZON_PLIES, last_row(rows, ply, game))
        balance = float(material_balance(rows.record[later, game])) * (-1) ** (later - ply)
        assert targets[ply, game] == pytest.approx(balance / MATERIAL_SCALE, rel=1e-6)


@settings(max_examples=50)
@given(rollouts)
def test_moves_left_count_to_the_end_that_the_rules_made(rows: RolloutRows) -> None:
    targets = moves_left_targets(rows)
    for ply, game in np.ndindex(rows.action.shape):
        last = last_row(rows, ply, game)
        known = rows.terminated[last, game]
        expected = (last - ply + 1) / MOVES_LEFT_SCALE_PLIES if known else UNKNOWN
        assert targets[ply, game] == pytest.approx(expected)


@settings(max_examples=50)
@given(rollouts)
def test_replies_are_the_next_actions_of_the_same_game(rows: RolloutRows) -> None:
    targets = reply_targets(rows)
    for ply, game in np.ndindex(rows.action.shape):
        follows = ply + 1 < len(rows.action) and rows.game[ply + 1, game] == rows.game[ply, game]
        assert targets[ply, game] == (rows.action[ply + 1, game] if follows else UNKNOWN)
