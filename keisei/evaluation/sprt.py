"""Stopping a match as soon as it has decided: the sequential probability ratio test, on pairs of games.

The likelihood of each hypothesis is that of `likelihood`: best over all distributions of pair scores with the mean
that the hypothesis names. Pairs must come in the order in which they were begun: short games end first, and a test
that took results as they come in would believe whoever wins quickly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from keisei.errors import ConfigError
from keisei.evaluation.likelihood import Array, expected_score, mean_likelihood, with_spread


class Verdict(StrEnum):
    """What a test has come to believe of the first player."""

    STRONGER = "stronger"
    NOT_STRONGER = "not stronger"
    OPEN = "open"


@dataclass(frozen=True)
class Sprt:
    """Is the first player ``elo1`` stronger, rather than ``elo0``? Either answer is wrong with probability ``risk``."""

    elo0: float
    elo1: float
    risk: float = 0.05

    def __post_init__(self) -> None:
        if not (math.isfinite(self.elo0) and math.isfinite(self.elo1) and self.elo0 < self.elo1):
            raise ConfigError(
                f"a sequential test needs two finite Elo differences, the smaller first, got {self.elo0!r} and "
                f"{self.elo1!r}; for example --sprt 0,20"
            )

    @classmethod
    def parse(cls, text: str) -> Sprt:
        """The test that ``ELO0,ELO1`` asks for."""
        try:
            elo0, elo1 = (float(number) for number in text.split(","))
        except ValueError:
            raise ConfigError(
                f"a sequential test is written as two numbers, got {text!r}; for example --sprt 0,20"
            ) from None
        return cls(elo0, elo1)

    @property
    def limit(self) -> float:
        """The log-likelihood ratio at which the test decides, for or (below 0) against the first player."""
        return math.log((1 - self.risk) / self.risk)

    def ratio(self, counts: Sequence[float] | Array) -> Array:
        """Log-likelihood ratio of the two hypotheses, for counts [..., 5] of pair scores."""
        table = with_spread(np.asarray(counts, float))
        low, high = (np.full(table.shape[:-1], expected_score(elo)) for elo in (self.elo0, self.elo1))
        return mean_likelihood(table, high).value - mean_likelihood(table, low).value

    def verdict(self, counts: Sequence[float] | Array) -> Verdict:
        """What these counts decide."""
        ratio = float(self.ratio(counts))
        if abs(ratio) < self.limit:
            return Verdict.OPEN
        return Verdict.STRONGER if ratio > 0 else Verdict.NOT_STRONGER
