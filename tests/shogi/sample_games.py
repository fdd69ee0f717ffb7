"""Games for the tests of records: random ones, and one for each way a game can end."""

import random
from collections.abc import Callable, Mapping

from keisei.shogi import HANDICAP_SFENS, STANDARD_SFEN, Reason, ShogiGame

MIDDLE_GAME = "8l/1l+R2P3/p2pBG1pp/kps1p4/Nn1P2G2/P1P1P2PP/1PS6/1KSG3+r1/LN2+p3L w Sbgn3p 124"
FULL_HAND = "4k4/9/9/9/9/9/9/9/4K4 b 2R2B4G4S4N4L18P 1"
STARTS: Mapping[str, str] = {
    "standard": STANDARD_SFEN,
    **HANDICAP_SFENS,
    "middle_game": MIDDLE_GAME,
    "full_hand": FULL_HAND,
}


def random_game(seed: int, start_sfen: str = STANDARD_SFEN, plies: int = 120) -> ShogiGame:
    """Up to ``plies`` uniformly random plies."""
    rng = random.Random(seed)
    game = ShogiGame(start_sfen, max_plies=1_000)
    while len(game.moves) < plies and game.outcome is None:
        game.make_move(rng.choice(game.legal_moves()))
    return game


def played(sfen: str, moves: str, **rules: object) -> ShogiGame:
    """The game after ``moves``, USI moves between spaces."""
    game = ShogiGame(sfen, **rules)
    for usi in moves.split():
        game.make_move(usi)
    return game


def _resigned() -> ShogiGame:
    game = played(STANDARD_SFEN, "7g7f 3c3d 8h2b+")
    game.resign()
    return game


def _declared() -> ShogiGame:
    game = played("4K4/+P+P+P+P+P+P+P+P+P/+R+R+B+B5/9/9/9/9/9/4k4 w - 1", "5i5h")
    game.declare_win()
    return game


def _impasse() -> ShogiGame:
    game = played("4K4/+P+P+P+P+P+P+P+P+P/+R+R+B6/9/9/9/9/9/4k4 w 2p 1", "5i5h", impasse_rule="csa24")
    game.declare_win()
    return game


ENDINGS: Mapping[Reason, Callable[[], ShogiGame]] = {
    Reason.CHECKMATE: lambda: played("4k4/9/4P4/9/9/9/9/9/4K4 b G 1", "G*5b"),
    Reason.NO_LEGAL_MOVES: lambda: played("8k/6B2/9/6G2/9/9/9/9/4K4 b - 1", "3d2c"),
    Reason.REPETITION: lambda: played(STANDARD_SFEN, "5i5h 5a5b 5h5i 5b5a " * 3),
    Reason.PERPETUAL_CHECK: lambda: played(
        "k8/9/9/9/9/9/9/8R/4K4 b - 1", "1h9h" + " 9a8a 9h8h 8a9a 8h9h" * 3
    ),
    Reason.IMPASSE: _impasse,
    Reason.DECLARATION: _declared,
    Reason.MAX_PLIES: lambda: played(STANDARD_SFEN, "7g7f 3c3d", max_plies=2),
    Reason.RESIGNATION: _resigned,
}
