"""How good each ply was: generalised advantage estimation for two players who take turns.

All arrays are ``[T, N]``: T plies of N games side by side, every number in the view of the ply's mover. What
is good for the next mover is bad for this one, so the value of the next position and the advantage carried
back from it both change sign from ply to ply. A column may hold several games one after the other; nothing
passes the end of a game, and columns never touch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]
BoolArray = NDArray[np.bool_]
#: Numbers, added up over all processes that learn together.
Total = Callable[[NDArray[np.float64]], NDArray[np.float64]]

# Values lie in -1..1; a spread below this is noise, and dividing by it would turn noise into policy.
ADVANTAGE_STD_FLOOR = 0.05


class Gae(NamedTuple):
    """``[T, N]`` each, in the dtype of the values; 0 on the opponent's plies."""

    advantages: FloatArray
    returns: FloatArray


def two_player_gae(
    rewards: FloatArray,
    values: FloatArray,
    next_values: FloatArray,
    terminated: BoolArray,
    truncated: BoolArray,
    learner: BoolArray,
    *,
    gamma: float,
    lam: float,
) -> Gae:
    """Advantages and returns of the learner's plies.

    ``delta_t = r_t - gamma (1 - terminated_t) B_{t+1} - V_t`` and
    ``A_t = delta_t - gamma lam (1 - done_t) A_{t+1}``; returns are ``A + V``.
    ``next_values[t]``, in the view of the player to move after ply t, stands for ``B_{t+1}`` where a game is
    truncated and in the last row. A frozen opponent's ply is part of the world: it has no delta, and its
    ``B`` is ``r - gamma (1 - terminated) B`` of the ply after it instead of its value.
    """
    advantages, returns = np.zeros_like(values), np.zeros_like(values)
    done = terminated | truncated
    # Behind the last row the rollout is cut as by a truncation: bootstrap, and carry nothing.
    worth, carried = next_values[-1], np.zeros_like(values[-1])
    for t in reversed(range(len(values))):
        ahead = np.where(done[t], next_values[t], worth)
        ahead = np.where(terminated[t], 0, ahead)
        result = rewards[t] - gamma * ahead
        delta = np.where(learner[t], result - values[t], 0)
        carried = delta - gamma * lam * np.where(done[t], 0, carried)
        worth = np.where(learner[t], values[t], result)
        advantages[t] = np.where(learner[t], carried, 0)
        returns[t] = np.where(learner[t], carried + values[t], 0)
    return Gae(advantages, returns)


def draw_mass(rewards: FloatArray, terminated: BoolArray, truncated: BoolArray, *, lam: float) -> FloatArray:
    """How much of each ply's outcome is known to be a draw, ``[T, N]`` in 0..1.

    A game that the rules ended without a winner was a draw with certainty on its last ply, and with weight
    ``lam^k`` k plies before it: the same trust in a far end that the returns have. A draw is a draw for both
    players, so nothing changes sign. A truncated game is no draw.
    """
    mass = np.zeros_like(rewards)
    drawn = terminated & (rewards == 0)
    done = terminated | truncated
    later = np.zeros_like(rewards[-1])
    for t in reversed(range(len(rewards))):
        later = np.where(done[t], drawn[t], lam * later)
        mass[t] = later
    return mass


def normalise_advantages(advantages: FloatArray, used: BoolArray, total: Total | None = None) -> FloatArray:
    """Advantages with mean 0 and standard deviation 1 (or less) over the ``used`` rows, 0 elsewhere.

    With ``total`` the rows are those of all processes that learn together; each gets its own back.
    """
    chosen = advantages[used]
    normalised = np.zeros_like(advantages)
    # Asked even where this process has no such rows: the others wait for its share.
    mean, deviation = _moments(chosen) if total is None else _joint_moments(chosen, total)
    if chosen.size:
        normalised[used] = (chosen - mean) / max(deviation, ADVANTAGE_STD_FLOOR)
    return normalised


def _moments(values: FloatArray) -> tuple[Any, float]:
    """Mean, in the dtype of the values, and standard deviation."""
    return (values.mean(), float(values.std())) if values.size else (0.0, 0.0)


def _joint_moments(values: FloatArray, total: Total) -> tuple[float, float]:
    count, added = total(np.array([values.size, values.sum(dtype=np.float64)]))
    mean = float(added) / max(count, 1)
    (squares,) = total(np.array([np.square(values - mean, dtype=np.float64).sum()]))
    return mean, float(np.sqrt(squares / max(count, 1)))
