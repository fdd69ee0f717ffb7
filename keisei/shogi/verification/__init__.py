"""Is our engine right? It plays games while independent engines follow, and every answer is compared.

``verify`` plays random games (and games driven towards repetitions, perpetual checks, declarations, drops
and crowded hands) with :class:`keisei.shogi.ShogiGame` and asks each installed oracle the same questions
about every position. The report counts the comparisons and holds a full replay of every disagreement.
"""

from keisei.shogi.verification.differential import verify
from keisei.shogi.verification.oracles import (
    CshogiOracle,
    Oracle,
    PythonShogiOracle,
    RsshogiOracle,
    installed_oracles,
)
from keisei.shogi.verification.report import Mismatch, Property, VerificationReport

__all__ = [
    "CshogiOracle",
    "Mismatch",
    "Oracle",
    "Property",
    "PythonShogiOracle",
    "RsshogiOracle",
    "VerificationReport",
    "installed_oracles",
    "verify",
]
