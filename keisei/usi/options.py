"""The engine's options: how they are announced, and what a GUI may set them to."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from keisei.errors import ConfigError

#: How a GUI writes an empty text.
EMPTY = "<empty>"
NEVER_RESIGN = 99_999


class Mode(StrEnum):
    """How moves are chosen: Gumbel search, the policy alone, or the value of the position after each move."""

    SEARCH = "search"
    POLICY = "policy"
    VALUE1 = "value1"


@dataclass(frozen=True)
class EngineOptions:
    """The values in force."""

    model: str = ""
    mode: Mode = Mode.SEARCH
    simulations: int = 0
    hash_mebibytes: int = 1024
    ponder: bool = False
    multi_pv: int = 1
    threads: int = max(1, (os.cpu_count() or 1) // 2)  # the opponent may be an engine on the same machine
    network_delay_milliseconds: int = 100
    resign_value: int = NEVER_RESIGN
    max_moves_to_draw: int = 0


@dataclass(frozen=True)
class _Option:
    """An option as the GUI knows it, and the field of `EngineOptions` that holds its value."""

    name: str
    field: str

    def kind(self, value: Any) -> str:
        """The rest of the declaration, with the value as the default."""
        raise NotImplementedError

    def parse(self, text: str) -> Any:
        raise NotImplementedError

    def _refuse(self, expected: str, text: str) -> ConfigError:
        return ConfigError(f"option {self.name} must be {expected}, not {text!r}; it keeps its value")


class _Check(_Option):
    def kind(self, value: Any) -> str:
        return f"type check default {str(value).lower()}"

    def parse(self, text: str) -> Any:
        if text.lower() not in ("true", "false"):
            raise self._refuse("true or false", text)
        return text.lower() == "true"


@dataclass(frozen=True)
class _Spin(_Option):
    least: int
    most: int

    def kind(self, value: Any) -> str:
        return f"type spin default {value} min {self.least} max {self.most}"

    def parse(self, text: str) -> Any:
        is_number = re.fullmatch("[+-]?[0-9]{1,18}", text) is not None
        if not is_number or not self.least <= int(text) <= self.most:
            raise self._refuse(f"a number from {self.least} to {self.most}", text)
        return int(text)


class _ModeChoice(_Option):
    def kind(self, value: Any) -> str:
        return " ".join([f"type combo default {value}", *(f"var {mode}" for mode in Mode)])

    def parse(self, text: str) -> Any:
        if text not in list(Mode):
            raise self._refuse(f"one of {', '.join(Mode)}", text)
        return Mode(text)


class _FileName(_Option):
    def kind(self, value: Any) -> str:
        return f"type filename default {value or EMPTY}"

    def parse(self, text: str) -> Any:
        return "" if text == EMPTY else text


# Names without blanks: ShogiHome loses an option whose name has one. MaxMovesToDraw is what ShogiArena looks for,
# Draw_Ply its other spelling.
_DECLARED: tuple[_Option, ...] = (
    _Spin("USI_Hash", "hash_mebibytes", 16, 1 << 20),
    _Check("USI_Ponder", "ponder"),
    _FileName("Model", "model"),
    _ModeChoice("Mode", "mode"),
    _Spin("Simulations", "simulations", 0, 10**9),
    _Spin("MultiPV", "multi_pv", 1, 593),
    _Spin("Threads", "threads", 1, 1024),
    _Spin("NetworkDelay", "network_delay_milliseconds", 0, 60_000),
    _Spin("ResignValue", "resign_value", 0, NEVER_RESIGN),
    _Spin("MaxMovesToDraw", "max_moves_to_draw", 0, 60_000),
)
_OTHER_NAMES = {"nodes": "simulations", "nodeslimit": "simulations", "draw_ply": "maxmovestodraw"}


def declarations(options: EngineOptions) -> list[str]:
    """The `option` lines that answer `usi`; what was set already is the default."""
    return [
        f"option name {option.name} {option.kind(getattr(options, option.field))}" for option in _DECLARED
    ]


def with_option(options: EngineOptions, name: str, value: str | None) -> EngineOptions:
    """The options with one changed. Unknown names change nothing; a value that cannot be is a ConfigError."""
    wanted = _OTHER_NAMES.get(name.lower(), name.lower())
    for option in _DECLARED:
        if option.name.lower() == wanted:
            return replace(options, **{option.field: option.parse((value or "").strip())})
    return options
