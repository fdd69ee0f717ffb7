"""Games as a viewer shows them: frame by frame, with what the network thought where that is known."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Protocol

from keisei.record.journal_schema import Game, Thought
from keisei.shogi.board_svg import Arrow
from keisei.shogi.game import ShogiGame
from keisei.shogi.move import Move
from keisei.web.board_picture import picture
from keisei.web.frames import Frame
from keisei.web.kept_games import position_at, position_from, result_words
from keisei.web.visit import Visit

#: A move that is hardly ever played would only clutter the board.
LEAST_ARROW: Final = 0.02
#: Boards that are drawn once for all visitors who look at the same.
DRAWN_BOARDS: Final = 256


class Film(Protocol):
    """A game to be shown; it may grow while it is."""

    @property
    def players(self) -> tuple[str, str]: ...

    @property
    def last(self) -> int:
        """The number of the last frame; the first is 0."""
        ...

    def caption(self, index: int) -> str:
        """What to say under a frame."""
        ...

    def frame(self, index: int) -> Frame: ...


@dataclass(frozen=True)
class KeptFilm:
    """A game of the journal. ``thoughts`` has one for each ply, or none at all."""

    game: Game
    thoughts: Sequence[Thought] = ()

    @property
    def players(self) -> tuple[str, str]:
        """Black and White."""
        return self.game.black, self.game.white

    @property
    def last(self) -> int:
        """The position after the last move."""
        return len(self.game.moves)

    def caption(self, _index: int) -> str:
        """Who played, and how it ended."""
        return f"☗ {self.game.black} – ☖ {self.game.white}: {result_words(self.game)}"

    def frame(self, index: int) -> Frame:
        """The position after ``index`` moves."""
        thought = self.thoughts[index] if index < len(self.thoughts) else None
        return Frame(position_at(self.game, index), thought)


def frame_picture(frame: Frame, visit: Visit, names: tuple[str, str], *, with_arrows: bool) -> str:
    """The frame as SVG; arrows are as wide as moves are likely."""
    position = frame.position
    moves = [move.usi for move in position.moves[-1:]]
    policy = frame.thought.policy if frame.thought is not None and with_arrows else ()
    return _drawn(_before(position), tuple(moves), policy, names, visit)


def _before(position: ShogiGame) -> str:
    if not position.moves:
        return position.sfen
    before = position.copy()
    before.undo_move()
    return before.sfen


@lru_cache(maxsize=DRAWN_BOARDS)
def _drawn(
    sfen: str,
    moves: tuple[str, ...],
    policy: tuple[tuple[str, float], ...],
    names: tuple[str, str],
    visit: Visit,
) -> str:
    position = position_from(sfen, moves)
    legal = {move.usi for move in position.legal_moves()} if policy else set()
    # What a journal calls a move may be anything.
    arrows = [arrow(usi, share) for usi, share in policy if share >= LEAST_ARROW and usi in legal]
    return picture(position, visit, names=names, arrows=arrows)


def arrow(usi: str, share: float) -> Arrow:
    """A move with its probability."""
    move = Move.from_usi(usi)
    return Arrow(move.from_square, move.to_square, share, f"{share:.0%}", move.drop_type)
