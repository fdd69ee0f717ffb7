"""Who should meet next, so that one player's rating becomes known with the fewest games.

Games between i and j tell about the difference of their ratings, the more the closer they are. What that takes off the
variance of a third rating follows from the covariance of all ratings (the formula of Sherman and Morrison for one more
observation), so games also go to the anchors in between where those are what is least known.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise

import numpy as np

from keisei.evaluation.likelihood import CATEGORIES, NATS_PER_ELO, VALUES, Array, with_spread
from keisei.evaluation.rating_model import Pairings, RatingModel, fixed_players
from keisei.evaluation.ratings import GAMES_PER_PAIR, Results
from keisei.evaluation.registry import ZERO

#: How far from the zero a player is thought to be before it has played (standard deviation).
EXPECTED_SPREAD_NATS = 1000 * NATS_PER_ELO
#: What ratings say of the score of two players weighs as much as so many games between them.
RATINGS_COUNT_AS = 4.0
NOTHING = (0,) * CATEGORIES


def choose_pairing(
    results: Results, names: Sequence[str], anchors: Sequence[str], widest: str, pairs: int
) -> tuple[str, str]:
    """The two of ``names`` whose next ``pairs`` of games narrow the interval of ``widest`` the most.

    Before that each anchor (weakest first) meets the one below it, and the widest, if new, the anchor in the middle.
    """
    met = {frozenset(pairing) for pairing, counts in results.items() if sum(counts)}
    for weaker, stronger in pairwise(anchors):
        if {weaker, stronger} not in met:
            return stronger, weaker
    if not any(widest in pairing for pairing in met):
        return widest, anchors[len(anchors) // 2]
    known = sorted({*names, ZERO, *(name for pairing in results for name in pairing)})
    number = {name: index for index, name in enumerate(known)}
    ratings, covariance = _belief(results, number)

    def gain(pairing: tuple[str, str]) -> float:
        first, second = (number[name] for name in pairing)
        spread = covariance[first, first] + covariance[second, second] - 2 * covariance[first, second]
        score = _expected_score(ratings[first] - ratings[second], spread, *_record(results, *pairing))
        information = pairs * GAMES_PER_PAIR * score * (1 - score)
        shared = covariance[number[widest], first] - covariance[number[widest], second]
        return float(shared**2 * information / (1 + information * spread))

    first, second = max(combinations(names, 2), key=gain)
    return (second, first) if second == widest else (first, second)


def _belief(results: Results, number: dict[str, int]) -> tuple[Array, Array]:
    """Ratings in nats and their covariance, under a prior that keeps what results do not bound finite."""
    pairings = Pairings(
        np.array([number[first] for first, _ in results], np.intp),
        np.array([number[second] for _, second in results], np.intp),
        with_spread(np.array([list(row) for row in results.values()], float).reshape(-1, CATEGORIES)),
    )
    model = RatingModel(pairings, len(number), EXPECTED_SPREAD_NATS**-2)
    zero = number[ZERO]
    ratings, _ = model.maximum(np.zeros(len(number)), fixed_players(len(number), [zero], ()))
    others = [player for player in range(len(number)) if player != zero]
    covariance = np.zeros((len(number), len(number)))
    information = model.information(ratings)[np.ix_(others, others)]
    covariance[np.ix_(others, others)] = np.linalg.inv(information)
    return ratings, covariance


def _expected_score(difference: float, spread: float, points: float, games: float) -> float:
    """What the first of two players will score, by their ratings and by their games so far.

    Ratings alone would send the same two players against each other for ever: where one has won everything, the
    likelihood is flat, their difference stays as uncertain as the prior has it, and another upset seems near.
    """
    # The difference is itself uncertain: MacKay's factor averages the logistic function over a normal spread.
    by_ratings = 1 / (1 + np.exp(-difference / np.sqrt(1 + np.pi * spread / 8)))
    return float((points + RATINGS_COUNT_AS * by_ratings) / (games + RATINGS_COUNT_AS))


def _record(results: Results, first: str, second: str) -> tuple[float, float]:
    """The first player's points against the second, and their games."""
    ours, theirs = results.get((first, second), NOTHING), results.get((second, first), NOTHING)
    points = np.dot(ours, VALUES) + np.dot(theirs, 1 - VALUES)
    return GAMES_PER_PAIR * float(points), GAMES_PER_PAIR * float(sum(ours) + sum(theirs))
