"""Where matches begin: each opening is played twice, with the colours swapped."""

from __future__ import annotations

import numpy as np

from keisei.shogi import ShogiGame

#: Enough to make games differ, too few to decide them.
OPENING_PLIES = 4


def random_openings(count: int, seed: int, plies: int = OPENING_PLIES) -> list[str]:
    """SFENs reached by uniformly random plies from the standard position."""
    random = np.random.default_rng(seed)
    openings = []
    for _ in range(count):
        game = ShogiGame()
        for _ in range(plies):
            moves = game.legal_moves()
            game.play(moves[int(random.integers(len(moves)))])
        openings.append(game.sfen)
    return openings
