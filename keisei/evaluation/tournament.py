"""Tournaments: several players, a list of pairings, one match for each.

Every way to measure strength is one of these: a single opponent is a match, a tournament the round robin, a benchmark
set the gauntlet of one player against a fixed list, a custom strategy any other list of pairings; the ladder chooses
its pairings itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

from keisei.errors import ConfigError
from keisei.evaluation.arena import GamesEnded, Match, MatchResult
from keisei.evaluation.players import Player
from keisei.evaluation.ratings import Rating, fit_ratings
from keisei.evaluation.scores import Score

PairingList = Sequence[tuple[str, str]]


def round_robin(names: Sequence[str]) -> list[tuple[str, str]]:
    """Everybody against everybody."""
    return list(combinations(names, 2))


def gauntlet(names: Sequence[str]) -> list[tuple[str, str]]:
    """The first against each of the others."""
    return [(names[0], name) for name in names[1:]]


class Tournament:
    """The matches of a tournament; ``matches`` holds what has been played, also after an error."""

    def __init__(
        self, players: Sequence[Player], pairings: PairingList, openings: Sequence[str], *, max_plies: int
    ) -> None:
        self._players = {player.name: player for player in players}
        if len(self._players) < len(players):
            names = [player.name for player in players]
            raise ConfigError(f"a tournament needs different players, got {names}; name each once")
        self.names = [player.name for player in players]
        self.matches: dict[tuple[str, str], MatchResult] = {}
        self._pairings = pairings
        self._openings = openings
        self._max_plies = max_plies

    def play(
        self, *, on_games: GamesEnded | None = None, should_stop: Callable[[], bool] = lambda: False
    ) -> None:
        """Plays all pairings, all from the same openings."""
        for first, second in self._pairings:
            if should_stop():
                break
            match = Match(
                self._players[first], self._players[second], self._openings, max_plies=self._max_plies
            )
            self.matches[first, second] = match.result
            match.play(on_games=on_games, should_stop=should_stop)

    def score(self, name: str, opponent: str | None = None) -> Score:
        """A player's score against one opponent, or against all."""
        total = Score(0, 0, 0)
        for (first, second), match in self.matches.items():
            if name == first and opponent in (None, second):
                total += match.score
            elif name == second and opponent in (None, first):
                total += match.score.reversed()
        return total

    def standings(self) -> list[str]:
        """The names, most points per game first."""
        return sorted(self.names, key=self._share, reverse=True)

    def ratings(self, zero: str) -> list[Rating]:
        """Joint ratings from all pairs of games; ``zero`` has 0."""
        return fit_ratings({pairing: match.pair_counts for pairing, match in self.matches.items()}, zero)

    def _share(self, name: str) -> float:
        score = self.score(name)
        return score.share if score.games else 0.0
