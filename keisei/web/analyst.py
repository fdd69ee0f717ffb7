"""A network asked for its opinion of positions: in a USI process, so that the page itself never computes."""

from collections.abc import AsyncIterator, Sequence
from typing import Final

from keisei.record.journal_schema import Game, Thought
from keisei.web.opponents import Opponents
from keisei.web.usi_process import Limit, UsiProcess

#: The policy and the value of the position itself, without any search.
_MODE: Final = "policy"
_ONE_LOOK: Final = Limit(nodes=1)
#: More than any position has legal moves.
ALL_MOVES: Final = 593
SHOWN_MOVES: Final = 4


class Analyst:
    """One engine that thinks about positions for one visitor."""

    def __init__(self, opponents: Opponents, engine: UsiProcess) -> None:
        self._opponents = opponents
        self._engine = engine

    @classmethod
    async def hire(
        cls, opponents: Opponents, run: str | None, name: str, moves: int = SHOWN_MOVES
    ) -> "Analyst":
        """Start the opponent called ``name``; it will tell the ``moves`` likeliest moves of each position."""
        options = {"Mode": _MODE, "MultiPV": moves}
        return cls(opponents, await opponents.start(run, name, options))

    async def think(self, sfen: str, moves: Sequence[str]) -> Thought:
        """What it thinks of a position."""
        answer = await self._engine.think(sfen, moves, _ONE_LOOK)
        return Thought(answer.value or 0.0, answer.policy)

    async def review(self, game: Game) -> AsyncIterator[Thought]:
        """What it thinks at each ply of a game."""
        for ply in range(len(game.moves)):
            yield await self.think(game.start_sfen, game.moves[:ply])

    async def leave(self) -> None:
        """End the engine."""
        await self._opponents.stop(self._engine)
