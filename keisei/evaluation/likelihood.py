"""How well an expected score explains results: the likelihood behind matches, sequential tests and ratings.

Two players who meet draw their results from some unknown distribution over five values: what the first player makes
per game of a pair from one opening with colours swapped (0, ¼, ½, ¾ or 1), or of a single game (0, ½, 1). Of all
distributions with a given mean, the one that explains the counts best speaks for that mean: the profile likelihood of
a multinomial. It needs no model of draws, uses what pairs share, and holds where one side won everything. For single
games without draws it is the binomial likelihood, and with it Bradley and Terry's.

Counts are arrays [..., 5]; all functions work on any number of leading axes at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

#: The possible scores of one observation, per game.
VALUES: Array = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
CATEGORIES = len(VALUES)

#: Natural logarithm of the odds that are worth one Elo point.
NATS_PER_ELO = float(np.log(10) / 400)

_SOLVER_STEPS = 100
_SOLVER_TOLERANCE = 1e-11
#: How far from 0 to its bound the first guess of a multiplier may go.
_FIRST_GUESS = 0.9
_TINY = 1e-300


class MeanLikelihood(NamedTuple):
    """Log-likelihood of a mean, 0 at the best one, with its slope and its curvature (at most 0) in that mean."""

    value: Array
    slope: Array
    curvature: Array


def category(points_per_game: float) -> int:
    """The index in `VALUES` of a pair's or a game's points per game."""
    return round(points_per_game * (CATEGORIES - 1))


def expected_score(elo: float) -> float:
    """The share of points that a player so much stronger makes on average."""
    return 1 / (1 + 10 ** (-elo / 400))


def with_spread(counts: Array) -> Array:
    """The counts, except where all are alike and neither 0 nor 1: there one is split between its two neighbours.

    A few pairs that all ended 1:1 do not prove that every pair will, and their likelihood would have a kink that no
    Newton method can sit on.
    """
    inner = counts[..., 1:-1]
    total = counts.sum(axis=-1, keepdims=True)
    is_alike = (inner == total) & (total > 0)
    spread = counts.copy()
    spread[..., 1:-1] -= is_alike
    spread[..., :-2] += is_alike / 2
    spread[..., 2:] += is_alike / 2
    return spread


def mean_likelihood(counts: Array, mean: Array) -> MeanLikelihood:
    """The best log-likelihood of ``counts`` [..., 5] among distributions with mean ``mean`` [...], within 0..1.

    With multiplier λ, category i has the probability n_i / (N (1 + λ (a_i − mean))). The multiplier is bounded by the
    extreme categories: at a bound, one that was never seen takes the rest of the probability.
    """
    distance = VALUES - mean[..., None]
    multiplier, is_bound = _multiplier(counts, mean, distance)
    weight = 1 + multiplier[..., None] * distance
    # A category that was never seen may have weight 0 here; it counts for nothing.
    weight = np.where(counts > 0, weight, 1.0)
    total = counts.sum(axis=-1)
    upward = (counts / weight**2).sum(axis=-1)
    sideways = (counts * (distance / weight) ** 2).sum(axis=-1)
    inside = -upward / np.where(is_bound | (sideways == 0), 1.0, sideways)
    change = np.where(is_bound, -(multiplier**2), inside)
    return MeanLikelihood(-(counts * np.log(weight)).sum(axis=-1), total * multiplier, total * change)


def _multiplier(counts: Array, mean: Array, distance: Array) -> tuple[Array, Flags]:
    """The root of Σ n d / (1 + λ d), which falls in λ, or the bound beyond which it lies; and whether it is a bound.

    Newton's method, kept inside a bracket that every step narrows.
    """
    lowest, highest = -1 / (1 - mean), 1 / mean
    at_low = _is_beyond(counts, distance, lowest, counts[..., -1], sign=-1)
    at_high = _is_beyond(counts, distance, highest, counts[..., 0], sign=1)
    is_bound = at_low | at_high
    bound = np.where(at_low, lowest, highest)
    low, high = lowest, highest
    spread = np.maximum((counts * distance**2).sum(axis=-1), _TINY)
    root = np.clip((counts * distance).sum(axis=-1) / spread, _FIRST_GUESS * low, _FIRST_GUESS * high)
    is_seen = counts > 0
    for _ in range(_SOLVER_STEPS):
        ratio = distance / np.where(is_seen, 1 + root[..., None] * distance, 1.0)
        excess = (counts * ratio).sum(axis=-1)
        steepness = (counts * ratio**2).sum(axis=-1)
        low, high = np.where(excess > 0, root, low), np.where(excess > 0, high, root)
        step = root + excess / np.maximum(steepness, _TINY)
        following = np.where((step >= low) & (step <= high), step, (low + high) / 2)
        change = np.where(is_bound | (excess == 0), 0.0, following - root)
        root = root + change
        if not (np.abs(change) > _SOLVER_TOLERANCE * (1 + np.abs(root))).any():
            break
    return np.where(is_bound, bound, root), is_bound


def _is_beyond(counts: Array, distance: Array, bound: Array, extreme: Array, *, sign: int) -> Flags:
    """Does the root lie at or beyond this bound? Never where the category that bounds it was seen."""
    weight = np.where(counts > 0, 1 + bound[..., None] * distance, 1.0)
    excess = (counts * distance / np.where(weight > 0, weight, 1.0)).sum(axis=-1)
    beyond: Flags = (extreme == 0) & (sign * excess >= 0) & (counts.sum(axis=-1) > 0)
    return beyond
