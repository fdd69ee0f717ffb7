"""Whom a visitor can play: checkpoints of the page's runs, engines named on the command line, the shipped network.

A browser chooses by name among these; no command ever comes from it.
"""

import asyncio
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import Final

from keisei.errors import WebError
from keisei.networks import SHIPPED
from keisei.web.run_library import RunLibrary
from keisei.web.usi_process import UsiProcess

#: Each holds a network in memory.
MAX_ENGINES: Final = 8
MAX_CHECKPOINTS: Final = 30
#: No run's checkpoint has such a name: theirs have a comma.
SHIPPED_NAME: Final = f"Keisei's {SHIPPED} network"
_OWN_ENGINE: Final = (sys.executable, "-c", "from keisei.usi.main import main; main()")


class Opponents:
    """Starts engines, and no more of them than the machine can bear."""

    def __init__(self, library: RunLibrary, engines: Mapping[str, Sequence[str]]) -> None:
        self._library = library
        self._engines = dict(engines)
        self._running: set[UsiProcess] = set()
        self._starting = asyncio.Lock()

    def commands(self, run: str | None) -> dict[str, Sequence[str]]:
        """Commands by name: engines first, then the run's checkpoints from the newest on, then the shipped network."""
        found = dict(self._engines)
        if run is not None:
            for path in self._library.feed(run).facts.checkpoints[: -MAX_CHECKPOINTS - 1 : -1]:
                found[f"{run}, {path.name}"] = (*_OWN_ENGINE, str(path.resolve()))
        found[SHIPPED_NAME] = (*_OWN_ENGINE, SHIPPED)
        return found

    async def start(
        self, run: str | None, name: str, options: Mapping[str, object] | None = None
    ) -> UsiProcess:
        """Start the opponent called ``name``."""
        command = self.commands(run).get(name)
        if command is None:
            raise WebError(f"there is no opponent called {name!r} here; reload the page to see who there is")
        async with self._starting:
            if len(self._running) >= MAX_ENGINES:
                raise WebError(f"{MAX_ENGINES} engines are at work for this page already; try again later")
            engine = await UsiProcess.start(name, command, options)
            self._running.add(engine)
        return engine

    async def stop(self, engine: UsiProcess) -> None:
        """End an engine."""
        await engine.end()
        self._running.discard(engine)


def parse_engines(texts: Sequence[str]) -> dict[str, Sequence[str]]:
    """`--engine NAME=COMMAND` as commands by name."""
    engines: dict[str, Sequence[str]] = {}
    for text in texts:
        name, _, command = text.partition("=")
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise WebError(f"--engine {text!r} cannot be read: {error}") from error
        if not name or not words:
            raise WebError(f"--engine expects NAME=COMMAND, got {text!r}")
        engines[name] = words
    return engines
