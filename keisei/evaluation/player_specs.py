"""Players by description, as people write them on a command line.

    random  mate1  greedy  ab1 … ab6             opponents that never change
    policy:CHECKPOINT[?temperature=T]            a network's likeliest move, or one drawn at a temperature
    value1:CHECKPOINT                            one ply of look-ahead by the network's value
    search:CHECKPOINT[?simulations=N]            Gumbel search with the network
    usi:COMMAND[?nodes=N&option.Name=value]      any USI engine; also depth=N or byoyomi=MILLISECONDS
    fairy1 … fairy3                              rungs of Fairy-Stockfish, where it is installed
    shipped                                      the policy of the network that comes with Keisei

CHECKPOINT is `shipped`, a checkpoint folder, a run folder or the name of a run (its newest good checkpoint);
RUN@strongest is the one with the highest lower bound of its rating, RUN@120 that of update 120. `%26` writes an `&`
inside a value.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from keisei.errors import ConfigError
from keisei.evaluation.checkpoint_network import DEFAULT_RUNS
from keisei.evaluation.checkpoint_player import LoadedNetwork, ValuePlayer, load_player_network
from keisei.evaluation.players import FIXED_PLAYERS, Player, PolicyPlayer
from keisei.evaluation.usi_player import UsiLimit, UsiPlayer
from keisei.networks import SHIPPED

DEFAULT_USI_NODES = 1000
OPTION_PREFIX = "option."

#: Weakest first: between greedy and ab1, between ab2 and ab3, and above ab4 (with Fairy-Stockfish 11.1).
FAIRY_RUNGS: Mapping[str, str] = {
    "fairy1": "usi:fairy-stockfish?nodes=1000&option.Skill Level=-4",
    "fairy2": "usi:fairy-stockfish?nodes=1000",
    "fairy3": "usi:fairy-stockfish?nodes=10000",
}

#: What may be written for short.
SHORT_NAMES: Mapping[str, str] = {**FAIRY_RUNGS, SHIPPED: f"policy:{SHIPPED}"}


@dataclass(frozen=True)
class PlayerSpec:
    """A description taken apart; ``text`` is what was written."""

    text: str
    kind: str
    target: str
    options: Mapping[str, str]

    @classmethod
    def parse(cls, text: str) -> PlayerSpec:
        """Takes a description apart; ConfigError for what is none."""
        written = SHORT_NAMES.get(text, text)
        kind, _, rest = written.partition(":")
        target, _, query = rest.rpartition("?") if "?" in rest else (rest, "", "")
        options = dict(_option(part, text) for part in query.split("&") if part)
        spec = cls(text, kind, target, options)
        spec._check()
        return spec

    def _check(self) -> None:
        if self.kind in FIXED_PLAYERS:
            if self.text != self.kind:
                raise ConfigError(
                    f"the player {self.kind!r} takes nothing behind its name, got {self.text!r}"
                )
            return
        if self.kind not in _ALLOWED_OPTIONS:
            raise _unknown_player(self.text)
        if not self.target:
            what = "a command" if self.kind == "usi" else "a checkpoint or a run"
            raise ConfigError(
                f"expected {what} in the player {self.text!r}: {self.kind}:{what.split()[1].upper()}"
            )
        for name in self.options:
            allowed = _ALLOWED_OPTIONS[self.kind]
            if name not in allowed and not (self.kind == "usi" and name.startswith(OPTION_PREFIX)):
                raise ConfigError(
                    f"unknown option {name!r} in the player {self.text!r}; {self.kind} knows {list(allowed)}"
                )

    def number(self, name: str, least: float) -> float | None:
        """The value of a numeric option, None where it is not given."""
        text = self.options.get(name)
        if text is None:
            return None
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not least <= value < float("inf"):
            raise ConfigError(
                f"expected a number of at least {least:g} for {name} in the player {self.text!r}, got {text!r}"
            )
        return value

    def whole_number(self, name: str) -> int | None:
        """The value of an option that counts something, None where it is not given."""
        value = self.number(name, least=1)
        if value is not None and value != int(value):
            raise ConfigError(
                f"expected a whole number for {name} in the player {self.text!r}, got {self.options[name]!r}"
            )
        return None if value is None else int(value)


def spec_of_contender(text: str) -> PlayerSpec:
    """A player as described, or the policy of the checkpoint or run that the text names."""
    is_player = ":" in text or text in FIXED_PLAYERS or text in SHORT_NAMES
    return PlayerSpec.parse(text if is_player else f"policy:{text}")


class OpenedPlayer(NamedTuple):
    """A player ready to play, and the network behind it where there is one."""

    player: Player
    network: LoadedNetwork | None = None


@contextmanager
def opened_players(
    *specs: str | PlayerSpec,
    seed: int = 0,
    runs: Path = DEFAULT_RUNS,
    device: str = "auto",
) -> Iterator[list[OpenedPlayer]]:
    """The described players, ready to play; their engines end with the ``with`` block. Each has a seed of its own."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(_opened(spec, seed + number, runs, device))
            for number, spec in enumerate(map(_parsed, specs))
        ]


def _parsed(spec: str | PlayerSpec) -> PlayerSpec:
    return PlayerSpec.parse(spec) if isinstance(spec, str) else spec


@contextmanager
def _opened(spec: PlayerSpec, seed: int, runs: Path, device: str) -> Iterator[OpenedPlayer]:
    if spec.kind in FIXED_PLAYERS:
        yield OpenedPlayer(FIXED_PLAYERS[spec.kind](seed))
    elif spec.kind == "usi":
        with _usi_player(spec) as player:
            yield OpenedPlayer(player)
    else:
        network = load_player_network(spec.target, runs, device)
        yield OpenedPlayer(_NETWORK_PLAYERS[spec.kind](spec, network, seed), network)


def _usi_player(spec: PlayerSpec) -> UsiPlayer:
    limits = {name: spec.whole_number(name) for name in ("nodes", "depth", "byoyomi")}
    if not any(limits.values()):
        limits["nodes"] = DEFAULT_USI_NODES
    options = {
        name.removeprefix(OPTION_PREFIX): value
        for name, value in spec.options.items()
        if name.startswith(OPTION_PREFIX)
    }
    return UsiPlayer(spec.text, spec.target, UsiLimit(**limits), options)


def _policy_player(spec: PlayerSpec, network: LoadedNetwork, seed: int) -> Player:
    temperature = spec.number("temperature", least=0) or 0.0
    name = f"policy:{network.name}" + (f"?temperature={temperature:g}" if temperature else "")
    return PolicyPlayer(name, network.inference, temperature=temperature, seed=seed)


def _value_player(_spec: PlayerSpec, network: LoadedNetwork, _seed: int) -> Player:
    return ValuePlayer(f"value1:{network.name}", network.inference)


def _search_player(spec: PlayerSpec, network: LoadedNetwork, _seed: int) -> Player:
    """Without noise at the root: openings make games differ."""
    from keisei.evaluation.gumbel_search import DEFAULT_SIMULATIONS, SearchPlayer

    simulations = spec.whole_number("simulations") or DEFAULT_SIMULATIONS
    name = f"search:{network.name}?simulations={simulations}"
    return SearchPlayer(name, network.inference, simulations=simulations)


_NETWORK_PLAYERS: Mapping[str, Callable[[PlayerSpec, LoadedNetwork, int], Player]] = {
    "policy": _policy_player,
    "value1": _value_player,
    "search": _search_player,
}
_ALLOWED_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "policy": ("temperature",),
    "value1": (),
    "search": ("simulations",),
    "usi": ("nodes", "depth", "byoyomi", f"{OPTION_PREFIX}NAME"),
}


def _option(part: str, text: str) -> tuple[str, str]:
    name, found, value = part.partition("=")
    if not found or not name:
        raise ConfigError(f"expected NAME=VALUE behind the '?' of the player {text!r}, got {part!r}")
    return unquote(name), unquote(value)


def _unknown_player(text: str) -> ConfigError:
    known = [*FIXED_PLAYERS, *SHORT_NAMES, *(f"{kind}:…" for kind in _ALLOWED_OPTIONS)]
    if Path(text).exists():
        return ConfigError(f"unknown player {text!r}; a network plays as policy:{text}, value1:… or search:…")
    close = difflib.get_close_matches(text, known, n=1)
    advice = f"did you mean {close[0]!r}?" if close else f"use one of {known}"
    return ConfigError(f"unknown player {text!r}; {advice}")
