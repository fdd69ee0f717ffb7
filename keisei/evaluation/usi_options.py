"""The options that a USI engine declares, and what they may be set to.

Values are checked here, since some engines end themselves on one that does not fit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from keisei.errors import UsiEngineError

#: Every engine has these, declared or not.
IMPLIED_OPTIONS = {
    "usi_hash": "type spin default 16 min 1 max 1048576",
    "usi_ponder": "type check default false",
}

WHOLE_NUMBER = re.compile("-?[0-9]{1,18}")


@dataclass(frozen=True)
class EngineOption:
    """An option as the engine declared it; the words after its name."""

    name: str
    declaration: str

    def refusal(self, value: str) -> str | None:
        """Why a value does not fit, None if it does. Fairy-Stockfish ends itself on a value that is no number."""
        words = self.declaration.split()
        kind = words[words.index("type") + 1] if "type" in words[:-1] else ""
        if kind == "spin":
            low, high = (_number_after(word, words) for word in ("min", "max"))
            if not WHOLE_NUMBER.fullmatch(value):
                return "a whole number is expected"
            if (low is not None and int(value) < low) or (high is not None and int(value) > high):
                return f"a number from {low} to {high} is expected"
        if kind == "check" and value not in ("true", "false"):
            return "true or false is expected"
        choices = [after for word, after in pairwise(words) if word == "var"]
        if kind == "combo" and value not in choices:
            return f"one of {choices} is expected"
        return None


class DeclaredOptions:
    """What an engine has declared between `usi` and `usiok`; ``engine`` is its command, for messages."""

    def __init__(self, engine: str) -> None:
        self._engine = engine
        self._options: dict[str, EngineOption] = {}

    def learn(self, line: str) -> None:
        """Takes in ``option name N type T …``; names may have blanks in them."""
        name, found, declaration = line.removeprefix("option name ").partition(" type ")
        if found:
            self._options[_key(name)] = EngineOption(name, f"type {declaration}")

    def command(self, name: str, value: str) -> str:
        """The `setoption` line; UsiEngineError where the engine has no such option or the value does not fit."""
        key = _key(name)
        if key in self._options:
            option = self._options[key]
        elif key in IMPLIED_OPTIONS:
            option = EngineOption(name, IMPLIED_OPTIONS[key])
        else:
            known = sorted(known.name for known in self._options.values())
            raise UsiEngineError(f"the engine {self._engine!r} has no option {name!r}; it has {known}")
        refusal = option.refusal(value)
        if refusal is not None:
            raise UsiEngineError(
                f"the option {option.name!r} of {self._engine!r} cannot be {value!r}: {refusal}; correct it"
            )
        return f"setoption name {option.name} value {value}"


def _key(name: str) -> str:
    """Engines and their versions disagree on blanks and capitals: `Skill Level`, `Skill_Level`."""
    return name.strip().lower().replace(" ", "_")


def _number_after(word: str, words: Sequence[str]) -> int | None:
    after = words[words.index(word) + 1] if word in words[:-1] else ""
    return int(after) if WHOLE_NUMBER.fullmatch(after) else None
