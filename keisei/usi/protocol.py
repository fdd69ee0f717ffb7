"""USI as text: lines from the GUI become commands. Pure functions; what is not understood is None, never an error."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from keisei.shogi import STANDARD_SFEN

#: No clock, node or depth count is longer; a longer one is garbage.
MAX_DIGITS = 15
_NUMBER = re.compile(rf"[+-]?[0-9]{{1,{MAX_DIGITS}}}")
_SET_OPTION = re.compile(r"setoption\s+name\s+(?P<name>\S.*?)(?:\s+value(?:\s+(?P<value>.*))?)?\s*")
_SFEN_FIELDS = 4
_FIRST_MOVE_NUMBER = "1"


@dataclass(frozen=True)
class GoLimits:
    """What a `go` allows. Times are in milliseconds; None where the GUI said nothing."""

    btime: int | None = None
    wtime: int | None = None
    byoyomi: int | None = None
    binc: int | None = None
    winc: int | None = None
    movetime: int | None = None
    nodes: int | None = None
    depth: int | None = None
    infinite: bool = False
    ponder: bool = False
    searchmoves: tuple[str, ...] = ()

    @property
    def has_clock(self) -> bool:
        """Is there any limit of time?"""
        times = (self.btime, self.wtime, self.byoyomi, self.binc, self.winc, self.movetime)
        return any(time is not None for time in times)


@dataclass(frozen=True)
class Usi:
    """The GUI asks who we are."""


@dataclass(frozen=True)
class IsReady:
    """The GUI waits until everything is loaded."""


@dataclass(frozen=True)
class SetOption:
    """A new value; None for a button."""

    name: str
    value: str | None


@dataclass(frozen=True)
class NewGame:
    """Another game begins."""


@dataclass(frozen=True)
class Position:
    """A start and the moves since then, not yet checked."""

    sfen: str
    moves: tuple[str, ...]


@dataclass(frozen=True)
class Go:
    """Think, and answer with one bestmove."""

    limits: GoLimits


@dataclass(frozen=True)
class GoMate:
    """Look for a forced mate, and answer with one checkmate. None is no limit."""

    milliseconds: int | None


@dataclass(frozen=True)
class Stop:
    """Answer now."""


@dataclass(frozen=True)
class PonderHit:
    """The predicted move was played. Some GUIs give the clocks only now."""

    limits: GoLimits


@dataclass(frozen=True)
class GameOver:
    """The game has ended; whatever runs must end too."""


@dataclass(frozen=True)
class Quit:
    """Leave at once."""


Command = Usi | IsReady | SetOption | NewGame | Position | Go | GoMate | Stop | PonderHit | GameOver | Quit

_PLAIN: dict[str, Command] = {
    "usi": Usi(),
    "isready": IsReady(),
    "usinewgame": NewGame(),
    "stop": Stop(),
    "gameover": GameOver(),
    "quit": Quit(),
}
_GO_NUMBERS = ("btime", "wtime", "byoyomi", "binc", "winc", "movetime", "nodes", "depth")
_GO_FLAGS = ("infinite", "ponder")
_GO_WORDS = frozenset((*_GO_NUMBERS, *_GO_FLAGS, "mate", "searchmoves"))


def parse(line: str) -> Command | None:
    """The command that a line gives; None for anything else."""
    words = line.split()
    if not words:
        return None
    match words[0]:
        case "setoption":
            return _parse_setoption(line.strip())
        case "position":
            return _parse_position(words[1:])
        case "go":
            return _parse_mate(words) if "mate" in words else Go(_parse_limits(words[1:]))
        case "ponderhit":
            return PonderHit(_parse_limits(words[1:]))
        case name:
            return _PLAIN.get(name)


def _parse_setoption(line: str) -> SetOption | None:
    matched = _SET_OPTION.fullmatch(line)
    return None if matched is None else SetOption(matched["name"], matched["value"])


def _parse_position(words: Sequence[str]) -> Position | None:
    at = words.index("moves") if "moves" in words else len(words)
    start, moves = list(words[:at]), tuple(words[at + 1 :])
    if start[:1] == ["startpos"]:
        return Position(STANDARD_SFEN, moves)
    fields = start[1:]
    if start[:1] != ["sfen"] or not fields:
        return None
    if len(fields) == _SFEN_FIELDS - 1:
        fields.append(_FIRST_MOVE_NUMBER)  # several GUIs leave the move number out
    return Position(" ".join(fields), moves)


def _parse_limits(words: Sequence[str]) -> GoLimits:
    limits: dict[str, Any] = {}
    for at, word in enumerate(words):
        if word in _GO_NUMBERS:
            limits[word] = _number(words[at + 1 : at + 2])
        elif word in _GO_FLAGS:
            limits[word] = True
        elif word == "searchmoves":
            limits[word] = _words_until_keyword(words[at + 1 :])
    return GoLimits(**limits)


def _parse_mate(words: Sequence[str]) -> GoMate:
    return GoMate(_number(words[words.index("mate") + 1 :][:1]))


def _words_until_keyword(words: Sequence[str]) -> tuple[str, ...]:
    end = next((at for at, word in enumerate(words) if word in _GO_WORDS), len(words))
    return tuple(words[:end])


def _number(words: Sequence[str]) -> int | None:
    """The number that a word is, at least 0: clocks that ran out are sent as negative numbers."""
    if not words or not _NUMBER.fullmatch(words[0]):
        return None
    return max(0, int(words[0]))
