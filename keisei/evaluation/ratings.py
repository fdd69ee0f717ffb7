"""Ratings in Elo from the results of many pairings: joint maximum likelihood with profile-likelihood intervals.

Each pairing speaks for its expected score as in `likelihood`, and the expected score is the logistic function of the
difference of two ratings (Bradley and Terry's model). Only differences show in results, so one player is the zero.
A bound is where the likelihood, best over all other ratings, has fallen by what 95 % confidence allows. A player who
won or lost everything, directly or through others, has a bound at infinity and so has its estimate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from keisei.evaluation.likelihood import CATEGORIES, NATS_PER_ELO, Array, with_spread
from keisei.evaluation.rating_model import Pairings, ProfileBounds, RatingModel, fixed_players
from keisei.evaluation.scores import Z_95

#: Counts of each value of `likelihood.VALUES`, of the first player against the second.
Results = Mapping[tuple[str, str], Sequence[float]]

GAMES_PER_PAIR = 2
FEWEST_DEGREES = 2.0


@dataclass(frozen=True)
class Rating:
    """A player's strength in Elo with its 95 % interval; infinite where results do not bound it."""

    name: str
    elo: float
    low: float
    high: float
    games: int

    @property
    def width(self) -> float:
        return self.high - self.low

    def __str__(self) -> str:
        if math.isnan(self.elo):
            return "unknown"
        if math.isinf(self.elo):
            return f"above {self.low:+.0f}" if self.elo > 0 else f"below {self.high:+.0f}"
        if self.low == self.high:  # the zero of the scale
            return f"{self.elo:.0f}"
        return f"{self.elo:+.0f} [{self.low:+.0f}, {self.high:+.0f}]"


class Intervals(NamedTuple):
    """Ratings and their bounds in nats, each [..., players]."""

    best: Array
    low: Array
    high: Array


def fit_ratings(results: Results, zero: str, *, games_per_count: int = GAMES_PER_PAIR) -> list[Rating]:
    """Ratings of everybody in ``results``, strongest first; ``zero`` has the rating 0.

    ``games_per_count`` is 2 where a count is a pair of games, 1 where it is a single game.
    """
    names = sorted({name for pairing in results for name in pairing} | {zero})
    number = {name: index for index, name in enumerate(names)}
    pairings = Pairings(
        np.array([number[first] for first, _ in results], np.intp),
        np.array([number[second] for _, second in results], np.intp),
        np.array([list(row) for row in results.values()], float).reshape(-1, CATEGORIES),
    )
    found = rating_intervals(pairings, len(names), number[zero])
    columns = ((bound / NATS_PER_ELO).tolist() for bound in found)
    ratings = [
        Rating(name, elo, low, high, _games(name, results) * games_per_count)
        for name, elo, low, high in zip(names, *columns, strict=True)
    ]
    return sorted(ratings, key=lambda rating: (math.isnan(rating.elo), -rating.elo, -rating.low))


def _games(name: str, results: Results) -> int:
    return sum(int(sum(counts)) for pairing, counts in results.items() if name in pairing)


def elo_difference(counts: Sequence[float], *, games_per_count: int = GAMES_PER_PAIR) -> Rating:
    """How much stronger the first of two players is, from the counts of their one pairing."""
    ratings = fit_ratings({("first", "zero"): counts}, "zero", games_per_count=games_per_count)
    return next(rating for rating in ratings if rating.name == "first")


def rating_intervals(pairings: Pairings, players: int, zero: int) -> Intervals:
    """Best ratings and their 95 % bounds, for any number of result tables at once (leading axes of the counts)."""
    model = RatingModel(pairings._replace(counts=with_spread(pairings.counts)), players)
    batch = pairings.counts.shape[:-2]
    best, top = model.maximum(np.zeros((*batch, players)), fixed_players(players, [zero], batch))
    limit = _student_95(pairings.counts.sum(axis=(-1, -2)) - (players - 1))
    bounds = ProfileBounds(model, best, top, zero, limit).find()
    low, high = (np.insert(bounds[..., side], zero, 0.0, axis=-1) for side in (0, 1))
    return Intervals(_infinite_where_open(best, low, high), low, high)


def _student_95(degrees: Array) -> Array:
    """Two-sided 95 % of Student's distribution, by the expansion of Cornish and Fisher (within 2 % from 2 degrees on).

    Where counts are few, the spread of results is itself uncertain, and 1.96 standard deviations cover too little. With
    this, 95 % intervals from fewer than about 20 pairs err on the wide side (simulated: 95 to 100 %). With fewer than
    two degrees intervals would reach over many thousands of Elo; those of two are given.
    """
    z, inverse = Z_95, 1 / np.maximum(degrees, FEWEST_DEGREES)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + inverse * (first + inverse * (second + inverse * third))


def _infinite_where_open(best: Array, low: Array, high: Array) -> Array:
    """Estimates that only the prior held are infinite; without a bound on either side nothing is known."""
    best = np.where(np.isinf(high), np.inf, np.where(np.isinf(low), -np.inf, best))
    return np.where(np.isinf(low) & np.isinf(high), np.nan, best)
