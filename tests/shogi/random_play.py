"""Positions of random games, dense and sparse, for tests that need many different ones."""

from collections.abc import Iterator
from random import Random

import numpy as np
import numpy.typing as npt

from keisei.shogi import HANDICAP_SFENS, STANDARD_SFEN, Move, ShogiGame, ShogiVectorEnv, Starts

#: Few pieces: from here random play checks, mates, repeats and promotes far more often than from the start.
SPARSE_SFENS = (
    "4k4/9/9/9/9/9/9/9/4K4 b 2R2B2g2s2n2l4p 1",
    "4k4/4+R4/9/9/9/9/9/9/K8 w r2b 1",
    "8k/9/8K/9/9/9/9/9/9 b RBrb 1",
    "k8/9/2K6/9/9/9/9/9/1R5r1 b Gg 1",
    "4k4/PPPP1PPPP/9/9/9/9/pppp1pppp/9/4K4 b - 1",
)
#: A mixture of everything an environment can start from.
MIXED_STARTS = Starts(standard=1, handicap=1, listed=2, random_prefix=1, earlier=1, sfens=SPARSE_SFENS)


def visited_games(count: int, seed: int, *, starts: Starts = MIXED_STARTS) -> Iterator[ShogiGame]:
    """``count`` games in flight, with their histories, under uniformly random play."""
    boards = 32
    env = ShogiVectorEnv(boards, seed, num_threads=1, starts=starts, max_plies=200)
    for number in range(count):
        if number % boards == 0 and number:
            env.step(env.random_actions())
        yield env.game(number % boards)


def visited_records(count: int, seed: int, *, starts: Starts = MIXED_STARTS) -> npt.NDArray[np.uint8]:
    """uint8 [count, 96]: packed positions of random games."""
    return np.frombuffer(
        b"".join(game.pack() for game in visited_games(count, seed, starts=starts)), np.uint8
    ).reshape(count, -1)


def walk(rng: Random, plies: int, *, max_plies: int = 200, restless: float = 0.4) -> Iterator[ShogiGame]:
    """One game object again and again, after every ply of random games from random starts.

    A ``restless`` share of the moves goes back where the piece came from, so that positions recur.
    """
    starts = (STANDARD_SFEN, *HANDICAP_SFENS.values(), *SPARSE_SFENS)
    game = ShogiGame(rng.choice(starts), max_plies=max_plies)
    for _ in range(plies):
        yield game
        if game.outcome is not None:
            game.reset(rng.choice(starts))
            continue
        legal = game.legal_moves()
        back = way_back(game)
        game.make_move(back if back in legal and rng.random() < restless else rng.choice(legal))


def way_back(game: ShogiGame) -> Move | None:
    """The move that would take the mover's last moved piece home."""
    if len(game.moves) < 2 or game.moves[-2].is_drop:
        return None
    usi = game.moves[-2].usi
    return Move.from_usi(usi[2:4] + usi[:2])
