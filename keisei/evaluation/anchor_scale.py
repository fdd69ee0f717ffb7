"""The scale on which a run's checkpoints are rated: opponents that never change, and what they play among each other.

The anchors' own results are kept in a registry and played once. A checkpoint is placed by its matches against them,
jointly with those results, so the cost of a rating does not grow with the number of checkpoints rated before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from keisei.evaluation.ladder import Ladder
from keisei.evaluation.players import FIXED_PLAYERS, fixed_player
from keisei.evaluation.ratings import Rating, fit_ratings
from keisei.evaluation.registry import ZERO, Registry


class AnchorScale:
    """Fixed players, weakest first, with the zero of the scale among them; ``games`` for each two neighbours."""

    def __init__(self, opponents: Sequence[str], registry: Registry, *, games: int, seed: int) -> None:
        self.anchors = tuple(name for name in FIXED_PLAYERS if name == ZERO or name in opponents)
        self._registry = registry
        self._games = games
        self._seed = seed

    def settle(self, should_stop: Callable[[], bool] = lambda: False) -> None:
        """Plays the matches between neighbours that the registry does not know yet."""
        players = [fixed_player(name, self._seed) for name in self.anchors]
        ladder = Ladder([], players, self._registry, games_per_step=self._games, seed=self._seed)
        for weaker, stronger in pairwise(self.anchors):
            if not self._registry.pairs_of(weaker, stronger) and not should_stop():
                ladder.play_step(stronger, weaker, should_stop=should_stop)

    def place(self, name: str, pair_counts: Mapping[str, Sequence[int]]) -> Rating:
        """The rating of a player from the pairs of games it played against each anchor."""
        among_anchors = {
            pairing: counts
            for pairing, counts in self._registry.results.items()
            if set(pairing) <= set(self.anchors)
        }
        against_anchors = {(name, anchor): counts for anchor, counts in pair_counts.items()}
        ratings = fit_ratings({**among_anchors, **against_anchors}, ZERO)
        return next(rating for rating in ratings if rating.name == name)
