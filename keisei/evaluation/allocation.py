"""Who should meet next, so that one player's rating becomes known with the fewest games.

Games between i and j tell about the difference of their ratings, the more the closer they are. What that takes off the
variance of a third rating follows from the covariance of all ratings (the formula of Sherman and Morrison for one more
observation), so games also go to the anchors in between where those are what is least known.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise

import numpy as np

from keisei.evaluation.likelihood import CATEGORIES, NATS_PER_ELO, Array, with_spread
from keisei.evaluation.rating_model import Pairings, RatingModel, fixed_players
from keisei.evaluation.ratings import GAMES_PER_PAIR, Results
from keisei.evaluation.registry import ZERO

#: How far from the zero a player is thought to be before it has played (standard deviation).
EXPECTED_SPREAD_NATS = 1000 * NATS_PER_ELO


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
        return _gain(ratings, covariance, number[widest], number[pairing[0]], number[pairing[1]], pairs)

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


def _gain(ratings: Array, covariance: Array, widest: int, first: int, second: int, pairs: int) -> float:
    """What ``pairs`` of games between two players take off the variance of the widest rating."""
    spread = covariance[first, first] + covariance[second, second] - 2 * covariance[first, second]
    # The expected score is itself uncertain: MacKay's factor averages the logistic function over a normal spread.
    distance = (ratings[first] - ratings[second]) / np.sqrt(1 + np.pi * spread / 8)
    score = 1 / (1 + np.exp(-distance))
    information = pairs * GAMES_PER_PAIR * score * (1 - score)
    shared = covariance[widest, first] - covariance[widest, second]
    return float(shared**2 * information / (1 + information * spread))
