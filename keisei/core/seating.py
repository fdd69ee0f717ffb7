"""Who plays whom in self-play: the learner alone, against a frozen network, or against a player that never changes.

Each game keeps its arrangement from its first ply to its last, except that the network behind "the frozen one" may be
exchanged between rollouts; a game is credited to a frozen network only if that one played it to the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray

from keisei.core.rollout_rows import RolloutRows
from keisei.shogi import Move, PolicyOutputMapper, ShogiGame, ShogiVectorEnv
from keisei.shogi.vector_env import RECORD_FLAGS

WHITE_MOVES_BIT = 1
#: The learner plays both colours of a game.
BOTH = -1
#: Numbers of opponents: nobody, the frozen network, then the anchors.
NOBODY, FROZEN, FIRST_ANCHOR = -1, 0, 1
FROZEN_NAME = "frozen"
WON, DRAWN, LOST = 1.0, 0.5, 0.0


@runtime_checkable
class Anchor(Protocol):
    """A player that never changes. What it answers beside moves (it gives up, it has broken down) counts as none."""

    @property
    def name(self) -> str: ...

    def choose(self, games: Sequence[ShogiGame]) -> Sequence[object]: ...


@runtime_checkable
class HasDice(Protocol):
    """A player that draws lots; its dice belong to the state of the games."""

    generator: np.random.Generator | torch.Generator


@dataclass
class Tally:
    """The learner's recent results against one opponent. It begins with a draw and fades, since the learner changes."""

    points: float = 0.5
    games: float = 1.0

    FADING = 0.98
    #: Even a hopeless opponent, or one that never wins, is met now and then.
    LEAST = 0.01

    def note(self, points: float) -> None:
        self.points = self.FADING * self.points + points
        self.games = self.FADING * self.games + 1

    @property
    def closeness(self) -> float:
        """p (1 − p) of the expected score p: largest where games are even, less the farther two ratings lie apart."""
        score = self.points / self.games
        return score * (1 - score) + self.LEAST


def closeness_odds(tallies: Sequence[Tally]) -> NDArray[np.float64]:
    """The probability with which each opponent is drawn when close ones are preferred."""
    weights = np.array([tally.closeness for tally in tallies])
    return np.asarray(weights / weights.sum())


@dataclass(frozen=True)
class SeatingSettings:
    """Shares of games against the frozen network and against the anchors, and how an anchor is drawn."""

    frozen_share: float
    anchor_share: float = 0.0
    by_closeness: bool = False


class Seating:
    """The arrangement of the games of an environment."""

    def __init__(
        self, env: ShogiVectorEnv, settings: SeatingSettings, anchors: Sequence[Anchor] = ()
    ) -> None:
        self._env = env
        self._settings = settings
        self.anchors = tuple(anchors)
        self._mapper = PolicyOutputMapper(env.num_actions)
        games = env.num_games
        self._tallies = [Tally() for _ in anchors]
        self.learner_color = np.full(games, BOTH, np.int8)
        self._opponent = np.full(games, NOBODY, np.int16)
        #: The frozen network that a game began against.
        self._began_against = np.zeros(games, np.int64)
        self._frozen_number = 0

    def seat_frozen(self, number: int, new_games: NDArray[np.bool_]) -> None:
        """From now on this frozen network plays, 0 is none; games without a ply begin against it."""
        self._frozen_number = number
        self._began_against[new_games] = number

    def begin(self, games: NDArray[np.intp], random: np.random.Generator) -> None:
        """Draws who plays new games."""
        settings, count = self._settings, len(games)
        lot = random.random(count)
        colors = random.integers(0, 2, count)
        opponent = np.where(lot < settings.frozen_share, FROZEN, NOBODY)
        if self.anchors:
            odds = closeness_odds(self._tallies) if settings.by_closeness else None
            drawn = FIRST_ANCHOR + random.choice(len(self.anchors), count, p=odds)
            meets_anchor = lot >= 1 - settings.anchor_share
            opponent = np.where(meets_anchor, drawn, opponent)
        self._opponent[games] = opponent
        self.learner_color[games] = np.where(opponent == NOBODY, BOTH, colors)
        self._began_against[games] = self._frozen_number

    def learner_moves(self) -> NDArray[np.bool_]:
        """Where the learner is to move; while no frozen network is seated, it takes that one's part too."""
        if not self._frozen_number and not self.anchors:
            return np.ones(self._env.num_games, np.bool_)
        mover = self._env.records[:, RECORD_FLAGS] & WHITE_MOVES_BIT
        moves = (self.learner_color == BOTH) | (self.learner_color == mover)
        if not self._frozen_number:
            moves |= self._opponent == FROZEN
        return np.asarray(moves)

    def frozen_moves(self, learner: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Where the frozen network is to move."""
        return ~learner & (self._opponent == FROZEN) if self.anchors else ~learner

    def play_anchors(self, row: RolloutRows, random: np.random.Generator) -> None:
        """Writes the actions of the anchors that are to move. Nothing of theirs is learned from."""
        for number, anchor in enumerate(self.anchors, start=FIRST_ANCHOR):
            moving = np.flatnonzero(~row.learner & (self._opponent == number))
            if not len(moving):
                continue
            games = [self._env.game(int(index)) for index in moving]
            answers = anchor.choose(games)
            row.action[moving] = [
                self._action(index, game, answer, random)
                for index, game, answer in zip(moving.tolist(), games, answers, strict=True)
            ]
            row.log_prob[moving] = 0
            row.value[moving] = 0
            row.forced[moving] = False

    def _action(self, index: int, game: ShogiGame, answer: object, random: np.random.Generator) -> int:
        """An answer as the environment numbers it; a player that has no move to offer plays one by lot."""
        env = self._env
        if not isinstance(answer, Move):
            return int(env.legal_actions[index, random.integers(env.legal_counts[index])])
        action = self._mapper.move_to_index(answer, game.turn)
        return int(self._mapper.flip_table[action]) if env.mirrored[index] else action

    def opponent_of(self, game: int) -> str:
        """Whom the learner plays in a game; empty where it plays itself."""
        number = self._number(game)
        if number == NOBODY:
            return ""
        return FROZEN_NAME if number == FROZEN else self.anchors[number - FIRST_ANCHOR].name

    def _number(self, game: int) -> int:
        """The opponent of a game. While there is no frozen network, the learner takes its part and plays itself."""
        number = int(self._opponent[game])
        return NOBODY if number == FROZEN and not self._frozen_number else number

    def points(self, game: int, winner: str | None) -> float | None:
        """The learner's points in a game that has ended; None where it played itself. Anchors' tallies note them."""
        number = self._number(game)
        if number == NOBODY:
            return None
        plays_white = bool(self.learner_color[game])
        points = DRAWN if winner is None else WON if (winner == "white") == plays_white else LOST
        if number >= FIRST_ANCHOR:
            self._tallies[number - FIRST_ANCHOR].note(points)
        return points

    def whole_against(self, game: int) -> int:
        """The frozen network that has played a game from its beginning until now; 0 where there is none."""
        same = self._opponent[game] == FROZEN and self._began_against[game] == self._frozen_number
        return self._frozen_number if same else 0

    # ---- state

    def generators(self) -> dict[str, np.random.Generator | torch.Generator]:
        return {
            f"anchor {number}": anchor.generator
            for number, anchor in enumerate(self.anchors)
            if isinstance(anchor, HasDice)
        }

    def state_arrays(self) -> dict[str, NDArray[Any]]:
        tallies = [(tally.points, tally.games) for tally in self._tallies]
        return {
            "learner_color": self.learner_color.copy(),
            "opponent": self._opponent.copy(),
            "began_against": self._began_against.copy(),
            "tallies": np.array(tallies, np.float64).reshape(-1, 2),
        }

    def load_state_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        tallies = arrays["tallies"]
        if len(tallies) != len(self._tallies):
            raise ValueError(
                f"the games were played with {len(tallies)} anchors, training.opponents.anchors has "
                f"{len(self._tallies)}"
            )
        self._tallies = [Tally(float(points), float(games)) for points, games in tallies]
        self.learner_color[:] = arrays["learner_color"]
        self._opponent[:] = arrays["opponent"]
        self._began_against[:] = arrays["began_against"]
