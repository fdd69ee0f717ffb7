"""The ladder: who is how strong, with games played where they tell the most.

Contenders meet anchors, opponents that never change, and each other. After every step all ratings are fitted anew from
all results in the registry, and `allocation` says who meets next.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from keisei.errors import ConfigError
from keisei.evaluation.allocation import choose_pairing
from keisei.evaluation.arena import GAMES_PER_PAIR, GamesEnded, Match, MatchResult
from keisei.evaluation.openings import random_openings
from keisei.evaluation.players import Player
from keisei.evaluation.ratings import Rating
from keisei.evaluation.registry import ZERO, Registry
from keisei.record.machine import find_program

FAIRY_PROGRAM = "fairy-stockfish"
#: Weakest first. The rungs of Fairy-Stockfish fill the gaps where it is installed.
FIXED_ANCHORS = ("random", "mate1", "greedy", "ab1", "ab2", "ab3", "ab4")
ANCHORS_WITH_FAIRY = ("random", "mate1", "greedy", "fairy1", "ab1", "ab2", "fairy2", "ab3", "ab4", "fairy3")


def default_anchors() -> tuple[str, ...]:
    """The anchors that can play on this machine."""
    return ANCHORS_WITH_FAIRY if find_program(FAIRY_PROGRAM) is not None else FIXED_ANCHORS


class Ladder:
    """Contenders and anchors (weakest first), and the registry that keeps what they have played."""

    def __init__(
        self,
        contenders: Sequence[Player],
        anchors: Sequence[Player],
        registry: Registry,
        *,
        games_per_step: int,
        seed: int,
    ) -> None:
        players = {player.name: player for player in (*anchors, *contenders)}
        if len(players) < len(anchors) + len(contenders):
            names = [player.name for player in (*anchors, *contenders)]
            raise ConfigError(f"a ladder needs different players, got {names}; name each once")
        if ZERO not in players:
            raise ConfigError(
                f"the anchors {[anchor.name for anchor in anchors]} lack {ZERO!r}, the zero of the scale"
            )
        if games_per_step < GAMES_PER_PAIR:
            raise ConfigError(f"games per step must be at least {GAMES_PER_PAIR}, got {games_per_step!r}")
        self._players = players
        self._contenders = [player.name for player in contenders]
        self._anchors = [player.name for player in anchors]
        self._registry = registry
        self._pairs_per_step = games_per_step // GAMES_PER_PAIR
        self._seed = seed

    def ratings(self) -> list[Rating]:
        """Those on this ladder, strongest first; the registry's other players count, but are not shown."""
        return [rating for rating in self._registry.ratings() if rating.name in self._players]

    def next_pairing(self) -> tuple[str, str]:
        """Who should meet next."""
        known = self._known()
        # Several may have no bound at all: then it is the turn of whoever has played least.
        widest = max(self._focus(), key=lambda name: (known[name].width, -known[name].games))
        return choose_pairing(
            self._registry.results, tuple(self._players), self._anchors, widest, self._pairs_per_step
        )

    def widest(self) -> float:
        """The width of the widest interval of a contender, in Elo."""
        known = self._known()
        return max(known[name].width for name in self._focus())

    def play_step(
        self,
        first: str,
        second: str,
        *,
        on_games: GamesEnded | None = None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> MatchResult:
        """Plays one step between two players; the registry keeps the pairs that were finished, whatever happens."""
        openings = random_openings(self._pairs_per_step, self._openings_seed(first, second))
        match = Match(
            self._players[first],
            self._players[second],
            openings,
            max_plies=self._registry.conditions.max_plies,
        )
        try:
            return match.play(on_games=on_games, should_stop=should_stop)
        finally:
            # A step that was broken off would favour who wins quickly; only whole ones count.
            if sum(match.result.pair_counts) == len(openings):
                self._registry.add(first, second, match.result.pair_counts)

    def _openings_seed(self, first: str, second: str) -> int:
        """Every step of a pairing has openings of its own, or players without dice would repeat themselves."""
        played = self._registry.pairs_of(first, second)
        return int(np.random.SeedSequence((self._seed, played)).generate_state(1)[0])

    def _focus(self) -> Sequence[str]:
        return self._contenders or [name for name in self._anchors if name != ZERO]

    def _known(self) -> Mapping[str, Rating]:
        """Everybody's rating; of whoever has not played nothing is known."""
        new = {name: Rating(name, math.nan, -math.inf, math.inf, 0) for name in self._players}
        return new | {rating.name: rating for rating in self._registry.ratings()}
