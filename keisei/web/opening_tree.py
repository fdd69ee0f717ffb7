"""What the network plays in the opening: counted over its kept games, early and late ones apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from keisei.record.journal_reader import Entry
from keisei.record.journal_schema import Game
from keisei.shogi.game import ShogiGame
from keisei.shogi.types import STANDARD_SFEN

DRAW_SCORE: Final = 0.5


@dataclass(frozen=True)
class Continuation:
    """One move from a position of the tree."""

    usi: str
    games: int
    share: float
    """Of all games that reached the position and went on."""
    black_score: float
    early_share: float
    """Its share in the earlier half of all games, by update."""
    late_share: float


def continuations(games: Sequence[Entry[Game]], line: tuple[str, ...]) -> list[Continuation]:
    """The moves played after ``line`` from the standard start, the most frequent first."""
    standard = [entry for entry in games if entry.content.start_sfen == STANDARD_SFEN]
    if not standard:
        return []
    middle = standard[len(standard) // 2].update
    depth = len(line)
    legal = _legal_after(line)
    reached = [e for e in standard if e.content.moves[:depth] == line and len(e.content.moves) > depth]
    early = [entry for entry in reached if entry.update < middle]
    late = [entry for entry in reached if entry.update >= middle]
    by_move: dict[str, list[Entry[Game]]] = {}
    for entry in reached:
        if entry.content.moves[depth] not in legal:
            continue  # a journal is a file, and files can be damaged
        by_move.setdefault(entry.content.moves[depth], []).append(entry)
    found = [
        Continuation(
            usi,
            len(entries),
            len(entries) / len(reached),
            sum(_black_points(entry.content) for entry in entries) / len(entries),
            _share(usi, early, depth),
            _share(usi, late, depth),
        )
        for usi, entries in by_move.items()
    ]
    return sorted(found, key=lambda move: (-move.games, move.usi))


def _legal_after(line: tuple[str, ...]) -> set[str]:
    game = ShogiGame()
    for usi in line:
        game.play(usi)
    return {move.usi for move in game.legal_moves()}


def _black_points(game: Game) -> float:
    return DRAW_SCORE if game.winner is None else float(game.winner == "black")


def _share(usi: str, games: Sequence[Entry[Game]], depth: int) -> float:
    return sum(entry.content.moves[depth] == usi for entry in games) / len(games) if games else 0.0
