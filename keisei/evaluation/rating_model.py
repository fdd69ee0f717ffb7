"""The joint likelihood of ratings, its maximum, and how far one rating can be moved before it falls too much.

All arrays may have leading axes: many result tables, many profiles of one table, are solved at once. Ratings are in
nats, [..., players]. Only differences show in results: whoever asks fixes at least one player.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keisei.evaluation.likelihood import CATEGORIES, NATS_PER_ELO, VALUES, Array, Flags, mean_likelihood

#: Keeps the best ratings finite where results alone would drive them apart, too weak to move any bound.
PRIOR_PRECISION = 1e-7
#: Beyond this difference of ratings the likelihood is drawn on as a straight line, which it nearly is.
STRAIGHT_NATS = 25.0
LONGEST_STEP_NATS = 4.0
#: Below this share of its approximation the exact curvature is not trusted.
LEAST_CURVATURE_SHARE = 0.05
NEWTON_STEPS = 200
HALVINGS = 30
GAIN_TOLERANCE = 1e-7
#: A likelihood that falls by less has not fallen: rounding does as much.
ROUNDING = 1e-9
DOUBLINGS = 10
ROOT_STEPS = 40
ROOT_TOLERANCE_NATS = 0.1 * NATS_PER_ELO


class Pairings(NamedTuple):
    """Who met whom: player numbers int [M], and counts [..., M, 5] of the first one's results."""

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    counts: Array


class _Evaluated(NamedTuple):
    """The log-likelihood of ratings, with its slope and curvature (above 0) in each pairing's difference."""

    value: Array
    slope: Array
    curvature: Array


class RatingModel:
    """What results say about ratings, with a prior around 0 of the given precision."""

    def __init__(self, pairings: Pairings, players: int, prior_precision: float = PRIOR_PRECISION) -> None:
        self.counts = pairings.counts
        self.players = players
        self._prior_precision = prior_precision
        rows = np.arange(len(pairings.first))
        #: [M, players]: +1 for the first player of each pairing, -1 for the second.
        self._incidence = np.zeros((len(rows), players))
        self._incidence[rows, pairings.first] += 1
        self._incidence[rows, pairings.second] -= 1

    def maximum(self, start: Array, is_fixed: Flags) -> tuple[Array, Array]:
        """The best ratings, with the fixed ones as in ``start``, and their log-likelihood."""
        ratings, here = start, self._evaluate(start)
        for _ in range(NEWTON_STEPS):
            step = self._newton_step(ratings, here, is_fixed)
            ratings, following = self._advance(ratings, here.value, step)
            gain = following.value - here.value
            here = following
            if not (gain > GAIN_TOLERANCE).any():
                break
        return ratings, here.value

    def can_be_unbounded(self, zero: int) -> tuple[Flags, Flags]:
        """Whether results leave a player's rating without a lower and without an upper bound, [..., players].

        A rating has an upper bound where a chain of players, each of whom took points from the next, leads to it from
        the zero, and a lower bound where one leads from it to the zero.
        """
        reach = self._took_points()
        for _ in range(max(self.players - 1, 1).bit_length()):
            reach = reach | (reach @ reach)
        return ~reach[..., :, zero], ~reach[..., zero, :]

    def information(self, ratings: Array) -> Array:
        """Curvature of the log-likelihood, [..., players, players]; its inverse is the covariance of the ratings."""
        return self._information(self._evaluate(ratings))

    def _information(self, here: _Evaluated) -> Array:
        weighted = self._incidence.T * here.curvature[..., None, :]
        information: Array = weighted @ self._incidence + self._prior_precision * np.eye(self.players)
        return information

    def _took_points(self) -> Flags:
        """bool [..., players, players]: the row took points from the column (or is the column)."""
        first, second = (self._incidence > 0).astype(int), (self._incidence < 0).astype(int)
        won = (self.counts @ VALUES > 0).astype(int)
        lost = (self.counts @ (1 - VALUES) > 0).astype(int)
        taken = (first.T * won[..., None, :]) @ second + (second.T * lost[..., None, :]) @ first
        took: Flags = (taken > 0) | np.eye(self.players, dtype=bool)
        return took

    def _evaluate(self, ratings: Array) -> _Evaluated:
        difference = ratings @ self._incidence.T
        inside = np.clip(difference, -STRAIGHT_NATS, STRAIGHT_NATS)
        mean = 1 / (1 + np.exp(-inside))
        likelihood = mean_likelihood(self._counts_for(difference), mean)
        # d mean / d difference; from both tails, since 1 - mean loses its digits where mean is nearly 1.
        inner = mean / (1 + np.exp(inside))
        slope = likelihood.slope * inner
        approximate = -likelihood.curvature * inner**2
        exact = approximate - slope * (1 - 2 * mean)
        curvature = np.where(exact > LEAST_CURVATURE_SHARE * approximate, exact, approximate)
        value = (likelihood.value + slope * (difference - inside)).sum(axis=-1)
        prior = self._prior_precision / 2 * (ratings**2).sum(axis=-1)
        return _Evaluated(value - prior, slope, curvature)

    def _counts_for(self, difference: Array) -> Array:
        """The counts, with axes for the profiles that stand between the result tables and the pairings."""
        extra = difference.ndim - (self.counts.ndim - 1)
        shape = (*self.counts.shape[:-2], *(1,) * extra, *self.counts.shape[-2:])
        return np.broadcast_to(self.counts.reshape(shape), (*difference.shape, CATEGORIES))

    def _newton_step(self, ratings: Array, here: _Evaluated, is_fixed: Flags) -> Array:
        gradient = here.slope @ self._incidence - self._prior_precision * ratings
        information = self._information(here)
        is_outside = is_fixed[..., :, None] | is_fixed[..., None, :]
        information = np.where(is_outside, np.eye(self.players), information)
        gradient = np.where(is_fixed, 0.0, gradient)
        step = np.asarray(np.linalg.solve(information, gradient[..., None])[..., 0], np.float64)
        longest = np.maximum(np.abs(step).max(axis=-1, keepdims=True), LONGEST_STEP_NATS)
        shortened: Array = step * (LONGEST_STEP_NATS / longest)
        return shortened

    def _advance(self, ratings: Array, value: Array, step: Array) -> tuple[Array, _Evaluated]:
        """As far along the step as the likelihood rises; nowhere if it never does."""
        for _ in range(HALVINGS):
            following = self._evaluate(ratings + step)
            is_worse = following.value < value - ROUNDING
            if not is_worse.any():
                break
            step = np.where(is_worse[..., None], step / 2, step)
        else:
            step = np.where(is_worse[..., None], 0.0, step)
            following = self._evaluate(ratings + step)
        return ratings + step, following


class ProfileBounds:
    """Finds where each player's rating, all others at their best, has lost ``limit`` [...] standard deviations.

    Other arrays are [..., players but the zero, 2 sides]; whole sets of ratings have one more axis.
    """

    def __init__(self, model: RatingModel, best: Array, top: Array, zero: int, limit: Array) -> None:
        others = np.array([player for player in range(model.players) if player != zero], np.intp)
        self._model = model
        self._top = top[..., None, None]
        self._limit = limit[..., None, None]
        self._others = others
        self._centre = best[..., others][..., None]
        self._side = np.array([-1.0, 1.0])
        shape = (*best.shape[:-1], len(others), 2, model.players)
        self._ratings = np.broadcast_to(best[..., None, None, :], shape)
        is_fixed = np.zeros((len(others), 1, model.players), bool)
        is_fixed[..., zero] = True
        is_fixed[np.arange(len(others)), 0, others] = True
        self._is_fixed = np.broadcast_to(is_fixed, shape)
        is_open = np.stack(model.can_be_unbounded(zero), axis=-1)
        self._is_open: Flags = is_open[..., others, :]

    def find(self) -> Array:
        """The bounds, infinite where there are none."""
        near, far, at_near, at_far = self._bracket()
        bound = far
        # Illinois variant of regula falsi: in standard deviations the profile is nearly straight.
        for _ in range(ROOT_STEPS):
            share = at_near / np.where(at_near == at_far, 1.0, at_near - at_far)
            following = near + (far - near) * np.clip(share, 0.0, 1.0)
            moved = np.where(self._is_open, 0.0, np.abs(following - bound))
            bound = following
            if not (moved > ROOT_TOLERANCE_NATS).any():
                break
            excess = self._excess(bound)
            is_inside = excess < 0
            at_near, at_far = (
                np.where(is_inside, excess, at_near / 2),
                np.where(is_inside, at_far / 2, excess),
            )
            near, far = np.where(is_inside, bound, near), np.where(is_inside, far, bound)
        return np.where(self._is_open, self._side * np.inf, self._centre + self._side * bound)

    def _bracket(self) -> tuple[Array, Array, Array, Array]:
        """Distances from the best rating inside and outside the interval, and the excess of each."""
        near = np.zeros(self._ratings.shape[:-1])
        at_near = np.broadcast_to(-self._limit, near.shape)
        far = np.ones(near.shape)
        at_far = self._excess(far)
        for _ in range(DOUBLINGS):
            is_inside = (at_far < 0) & ~self._is_open
            if not is_inside.any():
                break
            near, at_near = np.where(is_inside, far, near), np.where(is_inside, at_far, at_near)
            far = np.where(is_inside, far * 2, far)
            at_far = self._excess(far)
        return near, far, at_near, at_far

    def _excess(self, distance: Array) -> Array:
        """By how much the loss at these distances exceeds the limit; below 0 inside the interval."""
        value = np.where(self._is_open, self._centre, self._centre + self._side * distance)
        is_moved = np.arange(self._model.players) == self._others[:, None, None]
        start = np.where(is_moved, value[..., None], self._ratings)
        self._ratings, profile = self._model.maximum(start, self._is_fixed)
        return np.sqrt(np.maximum(2 * (self._top - profile), 0.0)) - self._limit


def fixed_players(players: int, fixed: Sequence[int], batch: tuple[int, ...]) -> Flags:
    """bool [*batch, players]: True for the fixed ones."""
    flags = np.zeros(players, bool)
    flags[list(fixed)] = True
    return np.broadcast_to(flags, (*batch, players))
