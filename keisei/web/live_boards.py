"""The watched games as visitors see them: each board shows its games one after the other, at a pace to follow.

The trainer writes the plies of an update at once. Here they are shown one at a time, so that a board is a little behind
the run and never jumps.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from keisei.record.journal_reader import Entry
from keisei.record.journal_schema import WatchedPly
from keisei.web.frames import Frame
from keisei.web.kept_games import position_from

#: How often boards move on; the trainer picks new games to watch at the same pace.
STEP_SECONDS: Final = 0.5
#: Steps that a finished game stays on its board.
REST_STEPS: Final = 6
#: Games that wait for a board; older ones are left out.
MAX_WAITING: Final = 2


@dataclass
class WatchedGame:
    """A film of one game, as far as its plies are known."""

    number: int
    plies: list[WatchedPly] = field(default_factory=list)
    players: tuple[str, str] = ("", "")

    @property
    def last(self) -> int:
        """The position after the last ply."""
        return len(self.plies)

    def caption(self, index: int) -> str:
        """Which game it is; how it ended is told when the end is shown."""
        ending = self.plies[-1].ending if index == self.last else ""
        return f"Game {self.number}" + (f": {ending}" if ending else "")

    def frame(self, index: int) -> Frame:
        """Frame 0 is the first position that was seen."""
        thought = self.plies[index].thought if index < self.last else None
        before = self.plies[max(index - 1, 0)]
        return Frame(position_from(before.sfen, (before.move,) if index > 0 else ()), thought)


class LiveBoard:
    """One board: the game that is shown, and those that wait to be."""

    def __init__(self) -> None:
        self._games: list[WatchedGame] = []
        self._rested = 0
        self.index = 0
        """The frame that is shown."""
        self._frame: tuple[WatchedGame, int, bool, Frame] | None = None

    @property
    def frame(self) -> Frame | None:
        """What is on the board, made once for all visitors."""
        game = self.game
        if game is None:
            return None
        shown = (game, self.index, self.index == game.last)
        if self._frame is None or self._frame[:3] != shown:
            self._frame = (*shown, game.frame(self.index))
        return self._frame[3]

    @property
    def game(self) -> WatchedGame | None:
        """The game on the board."""
        return self._games[0] if self._games else None

    def take(self, ply: WatchedPly) -> None:
        """One ply more."""
        if not self._games or self._games[-1].number != ply.game:
            self._games.append(WatchedGame(ply.game))
        self._games[-1].plies.append(ply)

    def step(self) -> None:
        """Move on by a ply, or to the next game when this one has been shown to its end."""
        if not self._games:
            return
        if self.index < self._games[0].last:
            self.index += 1
            return
        self._rested += 1
        if len(self._games) > 1 and self._rested >= REST_STEPS:
            self.keep(min(MAX_WAITING, len(self._games) - 1))

    def keep(self, newest: int) -> None:
        """Go on with the ``newest`` games, from the first ply of the oldest of them."""
        del self._games[:-newest]
        self.index = self._rested = 0


class LiveBoards:
    """All boards of a run, shared by its visitors: one step for all, and every picture is drawn once."""

    def __init__(self) -> None:
        self.boards: dict[int, LiveBoard] = {}
        self._stepped_at = 0.0

    def take(self, entries: Iterable[Entry[WatchedPly]]) -> None:
        """New plies in the order in which they were recorded."""
        known = set(self.boards)
        for entry in entries:
            self.boards.setdefault(entry.content.board, LiveBoard()).take(entry.content)
        for number in set(self.boards) - known:
            self.boards[number].keep(1)  # whoever comes late does not want what came before

    def step(self, now: float) -> None:
        """Move on if it is time, however many visitors ask."""
        if now - self._stepped_at >= STEP_SECONDS:
            self._stepped_at = now
            for board in self.boards.values():
                board.step()
