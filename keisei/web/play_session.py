"""A game between a visitor and an engine: what may be clicked, and what a click means.

Places are written as USI writes them: ``7g`` is a square, ``P*`` a pawn in hand, so that origin and target put
together are the move.
"""

from dataclasses import dataclass
from typing import Final

from keisei.shogi.board_text import RANK_LETTERS
from keisei.shogi.game import ShogiGame
from keisei.shogi.types import SQUARES, Color

FILES: Final = 9
ORIGIN_LENGTH: Final = 2


def place_of(square: int) -> str:
    """The USI name of square 0..80."""
    rank, column = divmod(square, FILES)
    return f"{FILES - column}{RANK_LETTERS[rank]}"


SQUARE_OF: Final = {place_of(square): square for square in range(SQUARES)}


@dataclass(frozen=True)
class Question:
    """A move that may promote or not."""

    plain: str

    @property
    def promoting(self) -> str:
        """The same move, promoting."""
        return f"{self.plain}+"


class PlaySession:
    """The board of one visitor."""

    def __init__(self, human: Color = Color.BLACK) -> None:
        self.game = ShogiGame()
        self.human = human
        self.chosen: str | None = None
        """Where the move that is being made begins."""

    @property
    def is_humans_turn(self) -> bool:
        """May the visitor move?"""
        return self.game.outcome is None and self.game.turn is self.human

    @property
    def moves(self) -> list[str]:
        """The game so far."""
        return [move.usi for move in self.game.moves]

    def origins(self) -> set[str]:
        """Places from which the visitor can move now."""
        return {usi[:ORIGIN_LENGTH] for usi in self._legal()}

    def targets(self) -> set[str]:
        """Squares that the chosen piece can go to."""
        if self.chosen is None:
            return set()
        return {usi[2:4] for usi in self._legal() if usi.startswith(self.chosen)}

    def choose(self, place: str) -> str | Question | None:
        """A click: the move that it completes, the question that it raises, or None when neither."""
        if self.chosen is not None and place in self.targets():
            plain, legal = f"{self.chosen}{place}", self._legal()
            self.chosen = None
            if plain in legal and f"{plain}+" in legal:
                return Question(plain)
            return plain if plain in legal else f"{plain}+"
        self.chosen = place if place in self.origins() and place != self.chosen else None
        return None

    def drag(self, origin: str, target: str) -> str | Question | None:
        """A piece drawn from one place to another."""
        self.chosen = origin if origin in self.origins() else None
        answer = self.choose(target) if target in self.targets() else None
        self.chosen = None
        return answer

    def play(self, usi: str) -> None:
        """Make a move of either side."""
        self.chosen = None
        self.game.play(usi)

    def undo(self) -> None:
        """Take back moves until it is the visitor's turn again, one at least."""
        self.chosen = None
        while self.game.moves:
            self.game.undo_move()
            if self.game.turn is self.human:
                break

    def _legal(self) -> list[str]:
        return [move.usi for move in self.game.legal_moves()] if self.is_humans_turn else []
