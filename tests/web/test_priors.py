import asyncio
import sys
from pathlib import Path

from keisei.web.opponents import Opponents, parse_engines
from keisei.web.priors import NOBODY, Priors
from keisei.web.run_library import RunLibrary

TOY = f"toy={sys.executable} {Path(__file__).parents[1] / 'toy_usi_engine.py'}"


def test_priors_are_asked_once_and_forgotten_with_the_checkpoint(tmp_path: Path) -> None:
    async def ask() -> None:
        priors = Priors(Opponents(RunLibrary(tmp_path), parse_engines([TOY])), None)
        assert await priors.ask(()) == ""
        assert priors.of(()) == {}
        await priors.choose("toy")
        assert await priors.ask(("7g7f",)) == ""
        assert priors.of(["7g7f"]) == {"1a1b": 0.6, "1c1d": 0.3}
        await priors.choose(NOBODY)
        assert priors.of(["7g7f"]) == {}
        await priors.leave()

    asyncio.run(ask())


def test_what_goes_wrong_is_told(tmp_path: Path) -> None:
    async def ask() -> str:
        priors = Priors(Opponents(RunLibrary(tmp_path), {}), None)
        await priors.choose("/bin/sh")
        return await priors.ask(())

    assert "no opponent called '/bin/sh'" in asyncio.run(ask())
