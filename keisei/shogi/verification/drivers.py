"""Who plays the verification games: uniformly random players, and players that make rare things frequent.

A driver is a choice of start position and a mover for both sides. A mover sees the legal moves of our game,
in our order, and picks one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle
from random import Random
from typing import Protocol

from keisei.shogi import HANDICAP_SFENS, STANDARD_SFEN, Color, Move, ShogiGame
from keisei.shogi.verification.random_sfen import entered_sfen, scattered_sfen

FILES = 9
CAMP_RANKS = 3
GLANCE, THOROUGH = 8, 30  # how many moves a wishful player looks at

# Few pieces and open lines: checks go on for long, and repetitions come soon.
OPEN_ENDGAMES = (
    "4k4/9/9/9/9/9/9/9/4K3R b - 1",
    "8k/9/9/9/9/9/9/9/K6+R1 b 2p 1",
    "4k4/9/4+R4/9/9/9/4+r4/9/4K4 w - 1",
    "k8/9/9/4+B4/9/9/9/9/8K b Rr 1",
    "4k4/4g4/9/9/9/9/9/3RG4/4K4 b r 1",
    "9/9/9/2k6/9/6K2/9/9/9 b RBrb 1",
    "lr2+R2G1/6g1k/p3ppppp/9/9/P8/1P3PPP1/6SK1/LN5NL b 2SNbg2p 1",
)


class Mover(Protocol):
    def choose(self, game: ShogiGame, moves: list[Move], rng: Random) -> Move: ...


Wish = Callable[[ShogiGame, Move], bool]


class Uniform:
    """Every legal move alike."""

    def choose(self, game: ShogiGame, moves: list[Move], rng: Random) -> Move:  # noqa: ARG002
        return rng.choice(moves)


class Wishful:
    """Looks at a few random moves and plays the first that fulfils the wish, else the last it looked at."""

    def __init__(self, wish: Wish, looks: int = GLANCE) -> None:
        self._wish = wish
        self._looks = looks

    def choose(self, game: ShogiGame, moves: list[Move], rng: Random) -> Move:
        for _ in range(self._looks):
            move = rng.choice(moves)
            if self._wish(game, move):
                return move
        return move


class Habitual:
    """Mostly plays what it played the last time in the same position, so one repetition becomes four.

    It also likes to take its last move back, which is what brings the first repetition about.
    """

    def __init__(self, mover: Mover, constancy: float = 0.9, regret: float = 0.5) -> None:
        self._mover = mover
        self._constancy = constancy
        self._regret = regret
        self._habits: dict[str, Move] = {}

    def choose(self, game: ShogiGame, moves: list[Move], rng: Random) -> Move:
        key = game.sfen.rsplit(" ", 1)[0]
        if key in self._habits and rng.random() < self._constancy:
            return self._habits[key]
        back = _taken_back(game, moves) if rng.random() < self._regret else None
        self._habits[key] = back or self._mover.choose(game, moves, rng)
        return self._habits[key]


def _taken_back(game: ShogiGame, moves: list[Move]) -> Move | None:
    own_last = game.moves[-2] if len(game.moves) > 1 else None
    if own_last is None or own_last.is_drop or own_last.promotes:
        return None
    there = (own_last.to_square, own_last.from_square)
    return next(
        (move for move in moves if (move.from_square, move.to_square) == there and not move.promotes), None
    )


def _drops(game: ShogiGame, move: Move) -> bool:  # noqa: ARG001
    return move.is_drop


def _captures(game: ShogiGame, move: Move) -> bool:
    return game.piece_at(move.to_square) is not None


def _spares(game: ShogiGame, move: Move) -> bool:
    return not _captures(game, move)


def _checks(game: ShogiGame, move: Move) -> bool:
    game.make_move(move)
    check = game.is_in_check
    game.undo_move()
    return check


def _enters_camp(game: ShogiGame, move: Move) -> bool:
    rank = move.to_square // FILES
    return rank < CAMP_RANKS if game.turn is Color.BLACK else rank >= FILES - CAMP_RANKS


@dataclass(frozen=True)
class Driver:
    """How one game is set up and played."""

    name: str
    start: Callable[[Random], str]
    mover: Callable[[], Mover]
    max_plies: int
    games: int


def _standard(rng: Random) -> str:  # noqa: ARG001
    return STANDARD_SFEN


def _handicap(rng: Random) -> str:
    return rng.choice(sorted(HANDICAP_SFENS.values()))


def _open_endgame(rng: Random) -> str:
    return rng.choice(OPEN_ENDGAMES)


# Games a round; short games come more often, so that no kind of position is rare.
DRIVERS = (
    Driver("random", _standard, Uniform, max_plies=300, games=1),
    Driver("handicap", _handicap, Uniform, max_plies=150, games=1),
    Driver("capture-happy", _standard, lambda: Wishful(_captures), max_plies=200, games=1),
    Driver("capture-averse", _handicap, lambda: Wishful(_spares), max_plies=200, games=1),
    Driver("drop-happy", _standard, lambda: Wishful(_drops), max_plies=200, games=1),
    Driver("shuffling", _handicap, lambda: Habitual(Uniform()), max_plies=80, games=4),
    Driver("checking", _open_endgame, lambda: Habitual(Wishful(_checks, THOROUGH)), max_plies=80, games=8),
    Driver("attacking", scattered_sfen, lambda: Habitual(Wishful(_checks, THOROUGH)), max_plies=80, games=4),
    Driver("scattered", scattered_sfen, Uniform, max_plies=20, games=10),
    Driver("entering", entered_sfen, lambda: Wishful(_enters_camp), max_plies=40, games=6),
)


def rounds() -> Iterator[Driver]:
    """Every driver as often as it should play, again and again."""
    return cycle(driver for driver in DRIVERS for _ in range(driver.games))
