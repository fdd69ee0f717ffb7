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
    material_targets,
    moves_left_targets,
    reply_targets,
)
from keisei.core.rollout_rows import UNKNOWN, RolloutRows
from keisei.shogi.positions import material_balance

rollouts = st.builds(
    random_rollout, seed=st.integers(0, 2**32 - 1), plies=st.integers(1, 30), games=st.integers(1, 3)
)


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
