"""The native alpha-beta search: a plain evaluation, a fixed depth, the same answer every time."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final, NamedTuple

from keisei.shogi import _native
from keisei.shogi.game import ShogiGame
from keisei.shogi.move import Move

#: A mate in n plies scores this less n, for the side that mates.
MATE_SCORE: Final[int] = _native.MATE_SCORE


class Found(NamedTuple):
    """The best move, its score in hundredths of a pawn for the side to move, and the positions looked at."""

    move: Move
    score: int
    nodes: int


def search_games(
    games: Sequence[ShogiGame], depth: int, *, seed: int = 0, num_threads: int | None = None
) -> list[Found]:
    """Searches each game to ``depth`` plies, several at once in native threads.

    A seed other than 0 adds noise of a few hundredths of a pawn, always the same for the same position, so that other
    seeds play other games. Every game must have a legal move.
    """
    if depth < 1:
        raise ValueError(f"depth must be at least 1, not {depth!r}")
    threads = num_threads or os.cpu_count() or 1
    results = _native.search_games(
        [game._game for game in games], depth, seed & 0xFFFF_FFFF_FFFF_FFFF, threads
    )
    for game, (code, _, _) in zip(games, results, strict=True):
        if code == 0:
            raise ValueError(f"there is no legal move to find in {game!r}")
    return [Found(Move(code), score, nodes) for code, score, nodes in results]
