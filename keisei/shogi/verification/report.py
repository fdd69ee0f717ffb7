"""What a verification run found: how much was compared, and where somebody disagreed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

Answer = str | bool | frozenset[str]


class Property(StrEnum):
    """A question that is put to us and to an oracle about the same position of the same game."""

    START = "start"  # may a game start from this SFEN?
    SFEN = "sfen"
    IN_CHECK = "in_check"
    LEGAL_MOVES = "legal_moves"
    MATE = "mate"  # "checkmate", "no_legal_moves" or "no"
    FOURFOLD = "fourfold"  # has this position occurred for the fourth time?
    PERPETUAL_CHECK = "perpetual_check"  # who loses by it: "black", "white" or "nobody"
    DECLARATION = "declaration"  # may the side to move declare a win (27 points, CSA)?


@dataclass(frozen=True)
class Mismatch:
    """One disagreement, with all that is needed to see it again."""

    oracle: str
    question: Property
    ours: Answer
    theirs: Answer
    start_sfen: str
    moves: tuple[str, ...]

    @property
    def usi_position(self) -> str:
        """The game up to the disagreement as a USI ``position`` command."""
        moves = f" moves {' '.join(self.moves)}" if self.moves else ""
        return f"position sfen {self.start_sfen}{moves}"

    def __str__(self) -> str:
        if isinstance(self.ours, frozenset) and isinstance(self.theirs, frozenset):
            difference = (
                f"only ours {sorted(self.ours - self.theirs)}, only theirs {sorted(self.theirs - self.ours)}"
            )
        else:
            difference = f"ours {self.ours!r}, theirs {self.theirs!r}"
        return f"{self.question} disagrees with {self.oracle}: {difference}; {self.usi_position}"


@dataclass
class VerificationReport:
    """The tally of a run; ``mismatches`` is empty when everybody agreed."""

    positions: int = 0
    games: int = 0
    comparisons: dict[str, Counter[Property]] = field(default_factory=dict)
    endings: Counter[str] = field(default_factory=Counter)
    declarable: int = 0
    mismatches: list[Mismatch] = field(default_factory=list)

    @property
    def agreed(self) -> bool:
        return not self.mismatches

    def lines(self) -> list[str]:
        """The report as text, one fact a line, disagreements last."""
        endings = ", ".join(f"{name} {count}" for name, count in sorted(self.endings.items()))
        text = [
            f"{self.positions} positions of {self.games} games, {self.declarable} with a declaration",
            f"endings: {endings or 'none'}",
        ]
        for oracle, counts in self.comparisons.items():
            told = ", ".join(f"{name} {counts[name]}" for name in Property if counts[name])
            text.append(f"compared with {oracle}: {told or 'nothing'}")
        text += [str(mismatch) for mismatch in self.mismatches]
        return text
