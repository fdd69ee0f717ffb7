"""Many games stepped together in native threads."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from keisei.shogi import _native
from keisei.shogi.arrays import as_actions, output
from keisei.shogi.game import ShogiGame
from keisei.shogi.policy import action_count
from keisei.shogi.positions import MAX_LEGAL_MOVES, RECORD_BYTES, LegalActions
from keisei.shogi.types import (
    DEFAULT_MAX_PLIES,
    HANDICAP_SFENS,
    REASONS,
    Color,
    ImpasseRule,
    Reason,
)

#: In `ShogiVectorEnv.mate_in_one`: there is no mate in one.
NO_ACTION: Final[int] = _native.NO_ACTION
#: Bit 0 of this byte of a packed position is set when White moves.
RECORD_FLAGS: Final = 89

_DTYPES: Final[dict[str, tuple[type[np.generic], tuple[int, ...]]]] = {
    "records": (np.uint8, (RECORD_BYTES,)),
    "legal_actions": (np.uint16, (MAX_LEGAL_MOVES,)),
    "legal_counts": (np.uint16, ()),
    "repetitions": (np.uint8, ()),
    "mate_in_one": (np.uint16, ()),
    "mirrored": (np.bool_, ()),
    "rewards": (np.float32, ()),
    "terminated": (np.bool_, ()),
    "truncated": (np.bool_, ()),
    "reasons": (np.uint8, ()),
    "final_records": (np.uint8, (RECORD_BYTES,)),
}


@dataclass(frozen=True)
class Starts:
    """A mixture of starting positions; the numbers are weights and need not add up to one.

    ``random_prefix`` plays 1..``prefix_plies`` uniformly random plies from the standard array. ``earlier`` takes a
    position of an earlier game on the same board (from its first half in plies; the standard array until there is
    one). ``listed`` takes one of ``sfens``, ``handicap`` one of the handicap arrays.
    """

    standard: float = 1.0
    handicap: float = 0.0
    listed: float = 0.0
    random_prefix: float = 0.0
    earlier: float = 0.0
    prefix_plies: int = 30
    sfens: Sequence[str] = field(default=())

    def native(self) -> dict[str, Any]:
        """The arguments of the native environment."""
        arguments = asdict(self)
        arguments["sfens"] = list(self.sfens)
        arguments["handicaps"] = list(HANDICAP_SFENS.values())
        return arguments


@dataclass(frozen=True)
class RandomPlay:
    """What `ShogiVectorEnv.play_random` played."""

    plies: int
    games: int
    reasons: Mapping[Reason, int]
    wins: Mapping[Color, int]


class ShogiVectorEnv:
    """N games that are stepped together, each reset by itself when it ends.

    After `reset` and `step` the arrays describe, one row a game:

    - the position to move in next: ``records`` uint8 [N, 96], ``legal_actions`` uint16 [N, 593] of which the first
      ``legal_counts`` uint16 [N] count, ``repetitions`` uint8 [N] (earlier occurrences), ``mate_in_one`` uint16 [N]
      (a mating action or `NO_ACTION`; only with ``mate_in_one=True``), ``mirrored`` bool [N] (the frame of the game);
    - the ply just played: ``rewards`` float32 [N] in the view of the player who moved, ``terminated`` and
      ``truncated`` bool [N], ``reasons`` uint8 [N] (see `REASONS`), ``final_records`` uint8 [N, 96]: the last
      position of a game that just ended, in the view of the side that would move; other rows are stale.

    With ``mirror=True`` half of the games, drawn at their start, are shown left-right mirrored to their end: their
    records and actions, those given to `step` too, are mirror images. `game` and `finished_game` are as played.

    The arrays are written in place: copy what must outlive the next step. They may be the caller's own, through
    ``arrays``. The same seed gives the same games whatever the number of threads.

    >>> env = ShogiVectorEnv(num_games=2, seed=7, num_threads=1)
    >>> env.legal_counts.tolist()
    [30, 30]
    >>> _ = env.step(env.random_actions())
    >>> env.terminated.any()
    np.False_
    """

    records: npt.NDArray[np.uint8]
    legal_actions: npt.NDArray[np.uint16]
    legal_counts: npt.NDArray[np.uint16]
    repetitions: npt.NDArray[np.uint8]
    mate_in_one: npt.NDArray[np.uint16]
    mirrored: npt.NDArray[np.bool_]
    rewards: npt.NDArray[np.float32]
    terminated: npt.NDArray[np.bool_]
    truncated: npt.NDArray[np.bool_]
    reasons: npt.NDArray[np.uint8]
    final_records: npt.NDArray[np.uint8]

    def __init__(
        self,
        num_games: int,
        seed: int = 0,
        num_threads: int | None = None,
        *,
        actions: str | int = "2187",
        starts: Starts | None = None,
        max_plies: int = DEFAULT_MAX_PLIES,
        impasse_rule: ImpasseRule | str = ImpasseRule.CSA27,
        declare: bool = True,
        mate_in_one: bool = False,
        mirror: bool = False,
        arrays: Mapping[str, npt.NDArray[Any]] | None = None,
    ) -> None:
        if num_games < 1:
            raise ValueError(f"num_games must be at least 1, not {num_games!r}")
        if num_threads is not None and num_threads < 1:
            raise ValueError(f"num_threads must be at least 1 or None (one a core), not {num_threads!r}")
        if not 1 <= max_plies <= _native.MAX_PLY:
            raise ValueError(f"max_plies must lie in 1..{_native.MAX_PLY}, not {max_plies!r}")
        self.num_games = num_games
        self.num_actions = action_count(actions)
        self.num_threads = num_threads or os.cpu_count() or 1
        own = _allocate(num_games, arrays or {})
        for name, array in own.items():
            setattr(self, name, array)
        self.mate_in_one.fill(NO_ACTION)
        self._env = _native.VectorEnv(
            own,
            num_games=num_games,
            seed=seed & 0xFFFF_FFFF_FFFF_FFFF,
            num_threads=self.num_threads,
            actions=self.num_actions,
            max_plies=max_plies,
            impasse=ImpasseRule(impasse_rule).code,
            declare=declare,
            mate_in_one=mate_in_one,
            mirror=mirror,
            **(starts or Starts()).native(),
        )

    def reset(self) -> "ShogiVectorEnv":
        """Begins every game anew, from the seed: the same games as a new environment."""
        self._env.reset()
        return self

    def step(self, actions: npt.NDArray[np.integer]) -> "ShogiVectorEnv":
        """Plays one action (int [N]) in every game.

        Raises ActionError, and steps no game, when an action is not legal.
        """
        self._env.step(as_actions(actions))
        return self

    def random_actions(self, out: npt.NDArray[np.int32] | None = None) -> npt.NDArray[np.int32]:
        """One uniformly drawn legal action for each game, int32 [N]."""
        chosen = output((self.num_games,), np.int32, out)
        self._env.random_actions(chosen)
        return chosen

    def play_random(self, plies: int) -> RandomPlay:
        """Plays random plies in every game without leaving native code."""
        played, games, by_reason, wins = self._env.play_random(plies)
        reasons = {
            reason: count for reason, count in zip(REASONS, by_reason, strict=True) if reason is not None
        }
        return RandomPlay(played, games, reasons, {color: wins[color] for color in Color})

    @property
    def legal(self) -> LegalActions:
        """The legal actions of the positions to move in, as one pair of arrays."""
        return LegalActions(self.legal_actions, self.legal_counts)

    def game(self, index: int) -> ShogiGame:
        """A copy of one game, with its history."""
        return ShogiGame._wrap(self._env.game(index))

    def finished_game(self, index: int) -> ShogiGame:
        """A copy of the last game that ended on a board; IndexError when none has yet."""
        return ShogiGame._wrap(self._env.finished_game(index))

    def save_state(self) -> bytes:
        """All games in flight and random states."""
        return self._env.save_state()

    def load_state(self, state: bytes) -> None:
        """Goes on exactly where `save_state` was called; ValueError, and no change, when the state does not fit."""
        self._env.load_state(state)


def _allocate(num_games: int, given: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """The environment's arrays: the caller's where given, new ones elsewhere."""
    unknown = set(given) - set(_DTYPES)
    if unknown:
        raise ValueError(f"unknown arrays {sorted(unknown)}; the environment has {sorted(_DTYPES)}")
    return {
        name: output((num_games, *row), dtype, given.get(name, np.zeros((num_games, *row), dtype)), name=name)
        for name, (dtype, row) in _DTYPES.items()
    }
