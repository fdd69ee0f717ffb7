"""Where matches begin: each opening is played twice, with the colours swapped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from keisei.errors import IllegalMoveError, OpeningError, SfenError
from keisei.shogi import STANDARD_SFEN, ShogiGame
from keisei.shogi.search import search_games

#: Enough to make games differ, too few to decide them.
OPENING_PLIES = 4
#: An opening is balanced when the alpha-beta search of this depth sees neither side ahead by more than this.
BALANCE_DEPTH = 2
BALANCE_LIMIT = 100
MAX_FILE_BYTES = 16 * 2**20
COMMENT = "#"


def random_openings(count: int, seed: int, plies: int = OPENING_PLIES) -> list[str]:
    """SFENs of balanced positions, reached by uniformly random plies from the standard position.

    A longer list with the same seed begins with the shorter one.
    """
    random = np.random.default_rng(seed)
    openings: list[str] = []
    while len(openings) < count:
        drawn = [_random_game(random, plies) for _ in range(count - len(openings))]
        openings += [game.sfen for game in _balanced(drawn)]
    return openings


def _balanced(games: Sequence[ShogiGame]) -> list[ShogiGame]:
    running = [game for game in games if game.outcome is None]
    found = search_games(running, BALANCE_DEPTH)
    return [game for game, best in zip(running, found, strict=True) if abs(best.score) <= BALANCE_LIMIT]


def _random_game(random: np.random.Generator, plies: int) -> ShogiGame:
    game = ShogiGame()
    for _ in range(plies):
        moves = game.legal_moves()
        game.play(moves[int(random.integers(len(moves)))])
    return game


def read_openings(path: Path) -> list[str]:
    """The SFENs of a file: one position a line, as ``SFEN``, ``sfen SFEN moves …`` or ``startpos moves …``.

    Empty lines and what follows a ``#`` do not count.

    Raises:
        OpeningError: the file cannot be read, has no opening, or a line of it is none; it says which.
    """
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise OpeningError(f"{path!s} has more than {MAX_FILE_BYTES} bytes; split the file")
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OpeningError(f"cannot read the openings in {path!s}: {error}; give a text file") from error
    openings = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.partition(COMMENT)[0].split()
        if words:
            openings.append(_opening(words, f"{path!s}, line {number}"))
    if not openings:
        raise OpeningError(f"there is no opening in {path!s}; write one SFEN or `startpos moves …` a line")
    return openings


def _opening(words: list[str], place: str) -> str:
    words = words[1:] if words[0] == "position" else words
    split = words.index("moves") if "moves" in words else len(words)
    start, moves = words[:split], words[split + 1 :]
    if start[:1] == ["sfen"]:
        start = start[1:]
    try:
        game = ShogiGame(STANDARD_SFEN if start == ["startpos"] else " ".join(start))
        for ply, move in enumerate(moves, start=1):
            _play(game, move, f"{place}: move {ply}")
    except SfenError as error:
        raise OpeningError(f"{place}: expected an SFEN or 'startpos moves …': {error}; correct it") from error
    if game.outcome is not None:
        raise OpeningError(f"{place}: the game is over there ({game.outcome.reason}); leave the line out")
    return game.sfen


def _play(game: ShogiGame, move: str, place: str) -> None:
    if game.outcome is not None:
        raise OpeningError(
            f"{place}: {move!r} follows the end of the game ({game.outcome.reason}); shorten it"
        )
    try:
        game.play(move)
    except IllegalMoveError as error:
        raise OpeningError(f"{place}: {error}; correct it or an earlier move") from error
