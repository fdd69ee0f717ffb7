"""One moment of a game: the position, and what the network thinks of it."""

from dataclasses import dataclass

from keisei.record.journal_schema import Thought
from keisei.shogi.game import ShogiGame
from keisei.shogi.types import Color


@dataclass(frozen=True)
class Frame:
    """A position that came about in a game, and what the network thinks of it."""

    position: ShogiGame
    thought: Thought | None = None

    @property
    def black_share(self) -> float | None:
        """Black's expected score, 0..1."""
        return None if self.thought is None else black_share(self.thought, self.position.turn)


def black_share(thought: Thought, turn: Color) -> float:
    """Black's expected score in 0..1, from the mover's value."""
    return (1 + (thought.value if turn is Color.BLACK else -thought.value)) / 2
