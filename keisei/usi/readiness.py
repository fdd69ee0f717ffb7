"""Which network is loaded or on its way, and the `readyok` lines that are owed until it is there."""

from __future__ import annotations

from typing import NamedTuple

from keisei.usi.options import EngineOptions
from keisei.usi.thinker import Thinker


class _LoadKey(NamedTuple):
    """What the loaded network depends on."""

    model: str
    threads: int

    @classmethod
    def of(cls, options: EngineOptions) -> _LoadKey:
        return cls(options.model, options.threads)


class Readiness:
    """Loads in the order of the requests; the thinker reports each."""

    def __init__(self, thinker: Thinker) -> None:
        self._thinker = thinker
        self._loaded: _LoadKey | None = None
        self._under_way: list[_LoadKey] = []
        self._owed = 0

    def request(self, options: EngineOptions) -> None:
        """Has the network of these options loaded, unless it is or will be."""
        wanted = _LoadKey.of(options)
        newest = self._under_way[-1] if self._under_way else self._loaded
        if newest != wanted:
            self._under_way.append(wanted)
            self._thinker.load(options)

    def note_loaded(self) -> None:
        """The oldest request is done."""
        self._loaded = self._under_way.pop(0)

    def owe(self) -> None:
        """One more `readyok`."""
        self._owed += 1

    def take_due(self) -> int:
        """How many `readyok` are to be said now: none while anything is being loaded."""
        if self._under_way:
            return 0
        due, self._owed = self._owed, 0
        return due
