import asyncio
import sys
from pathlib import Path

import pytest
from recorded_runs import record_run

from keisei.errors import WebError
from keisei.shogi import Move, ShogiGame
from keisei.web.opponents import MAX_ENGINES, SHIPPED_NAME, Opponents, parse_engines
from keisei.web.run_library import RunLibrary
from keisei.web.usi_process import Limit

TOY = f"toy={sys.executable} {Path(__file__).parents[1] / 'toy_usi_engine.py'}"


def test_engines_come_first_then_checkpoints_from_the_newest_then_the_shipped_network(tmp_path: Path) -> None:
    run = record_run(tmp_path, "quiet-lance", updates=1, games=1)
    for name in ("update-000001", "update-000002"):
        (run.checkpoints_path / name).mkdir()
        (run.checkpoints_path / name / "manifest.json").write_text("{}")
    opponents = Opponents(RunLibrary(tmp_path), parse_engines([TOY]))
    commands = opponents.commands("quiet-lance")
    checkpoints = ["quiet-lance, update-000002", "quiet-lance, update-000001"]
    assert list(commands) == ["toy", *checkpoints, SHIPPED_NAME]
    assert commands["quiet-lance, update-000001"][-1] == str(run.checkpoints_path / "update-000001")


def test_without_any_run_the_shipped_network_plays(tmp_path: Path) -> None:
    async def first_move() -> str:
        opponents = Opponents(RunLibrary(tmp_path), {})
        (name,) = opponents.commands(None)
        engine = await opponents.start(None, name)
        try:
            return (await engine.think(ShogiGame().sfen, [], Limit(nodes=2))).move
        finally:
            await opponents.stop(engine)

    assert Move.from_usi(asyncio.run(first_move())) in ShogiGame().legal_moves()


@pytest.mark.parametrize("name", ["", "sh", "/bin/sh", "toy; rm"])
def test_only_known_names_are_started(tmp_path: Path, name: str) -> None:
    opponents = Opponents(RunLibrary(tmp_path), parse_engines([TOY]))
    with pytest.raises(WebError, match="no opponent called"):
        asyncio.run(opponents.start(None, name))


def test_number_of_engines_is_bounded(tmp_path: Path) -> None:
    async def crowd() -> None:
        opponents = Opponents(RunLibrary(tmp_path), parse_engines([TOY]))
        engines = list(await asyncio.gather(*(opponents.start(None, "toy") for _ in range(MAX_ENGINES))))
        try:
            with pytest.raises(WebError, match="at work"):
                await opponents.start(None, "toy")
            await opponents.stop(engines.pop())
            engines.append(await opponents.start(None, "toy"))
        finally:
            for engine in engines:
                await opponents.stop(engine)

    asyncio.run(crowd())


@pytest.mark.parametrize("text", ["", "toy", "toy=", "=x", "toy='x"])
def test_engine_option_is_checked(text: str) -> None:
    with pytest.raises(WebError, match="--engine"):
        parse_engines([text])
