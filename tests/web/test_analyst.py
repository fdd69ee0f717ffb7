import asyncio
import sys
from pathlib import Path

import pytest

from keisei.errors import WebError
from keisei.record.journal_schema import Game, Thought
from keisei.shogi.types import STANDARD_SFEN
from keisei.web.analyst import Analyst
from keisei.web.opponents import MAX_ENGINES, Opponents, parse_engines
from keisei.web.run_library import RunLibrary

TOY = f"toy={sys.executable} {Path(__file__).parents[1] / 'toy_usi_engine.py'}"


@pytest.fixture
def opponents(tmp_path: Path) -> Opponents:
    return Opponents(RunLibrary(tmp_path), parse_engines([TOY]))


def test_every_ply_of_a_game_is_reviewed(opponents: Opponents) -> None:
    game = Game("a", "b", STANDARD_SFEN, ("7g7f", "3c3d", "2g2f"), None, "max_plies")

    async def review() -> list[Thought]:
        analyst = await Analyst.hire(opponents, None, "toy")
        try:
            return [thought async for thought in analyst.review(game)]
        finally:
            await analyst.leave()

    thoughts = asyncio.run(review())
    # The toy tells its first two moves by name, likelier first, whatever the order in which it says them.
    assert [thought.policy[0] for thought in thoughts] == [("1g1f", 0.6), ("1a1b", 0.6), ("1g1f", 0.6)]
    assert all(thought.value == pytest.approx(0.01, abs=1e-4) for thought in thoughts)


def test_an_analyst_counts_as_an_engine_until_it_leaves(opponents: Opponents) -> None:
    async def crowd() -> None:
        analysts = [await Analyst.hire(opponents, None, "toy") for _ in range(MAX_ENGINES)]
        with pytest.raises(WebError, match="at work"):
            await Analyst.hire(opponents, None, "toy")
        for analyst in analysts:
            await analyst.leave()
        await (await Analyst.hire(opponents, None, "toy")).leave()

    asyncio.run(crowd())
