"""Scores with error bars."""

from __future__ import annotations

import math
from dataclasses import dataclass

#: Two-sided 95 % of the normal distribution.
Z_95 = 1.959963984540054


@dataclass(frozen=True)
class Score:
    """Wins, draws and losses of one side; a draw counts half."""

    wins: int
    draws: int
    losses: int

    @property
    def games(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def share(self) -> float:
        """Points per game, 0..1."""
        return (self.wins + self.draws / 2) / self.games if self.games else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the share by Wilson's method, which stays within 0..1 and holds near its ends.

        Draws make the true spread smaller than for pure wins and losses, so this errs on the wide side.
        """
        n = self.games
        if n == 0:
            return 0.0, 1.0
        z2 = Z_95**2
        centre = (self.share + z2 / (2 * n)) / (1 + z2 / n)
        half = Z_95 / (1 + z2 / n) * math.sqrt(self.share * (1 - self.share) / n + z2 / (4 * n * n))
        return max(0.0, centre - half), min(1.0, centre + half)

    def __add__(self, other: Score) -> Score:
        return Score(self.wins + other.wins, self.draws + other.draws, self.losses + other.losses)

    def reversed(self) -> Score:
        """The same games as the other side sees them."""
        return Score(self.losses, self.draws, self.wins)

    def __str__(self) -> str:
        low, high = self.interval
        games = f"{self.wins} won, {self.draws} drawn, {self.losses} lost"
        return f"{self.share:.1%} (95 %: {low:.1%} to {high:.1%}; {games})"
