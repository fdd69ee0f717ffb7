"""What a checkpoint's policy would play after the moves of a line."""

from collections.abc import Mapping, Sequence
from typing import Final

from keisei.errors import KeiseiError
from keisei.shogi.types import STANDARD_SFEN
from keisei.web.analyst import ALL_MOVES, Analyst
from keisei.web.opponents import Opponents

NOBODY: Final = "nobody"


class Priors:
    """Asks one engine, started at the first question; ``leave`` ends it."""

    def __init__(self, opponents: Opponents, run: str | None) -> None:
        self._opponents = opponents
        self._run = run
        self._analyst: Analyst | None = None
        self._name = NOBODY
        self._known: dict[tuple[str, ...], dict[str, float]] = {}

    def of(self, line: Sequence[str]) -> Mapping[str, float]:
        """The probabilities after a line, as far as they are known."""
        return self._known.get(tuple(line), {})

    async def choose(self, name: str) -> None:
        """Ask somebody else from now on."""
        await self.leave()
        self._known.clear()
        self._name = name

    async def ask(self, line: tuple[str, ...]) -> str:
        """Make the probabilities after a line known; returns what went wrong, if anything did."""
        if self._name == NOBODY or line in self._known:
            return ""
        try:
            if self._analyst is None:
                self._analyst = await Analyst.hire(self._opponents, self._run, self._name, ALL_MOVES)
            self._known[line] = dict((await self._analyst.think(STANDARD_SFEN, line)).policy)
        except KeiseiError as error:
            await self.leave()
            return str(error)
        return ""

    async def leave(self) -> None:
        """End the engine."""
        analyst, self._analyst = self._analyst, None
        if analyst is not None:
            await analyst.leave()
