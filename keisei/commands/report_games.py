"""The games of a report: which are worth a look, and each as a strip of boards."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

from keisei.record.journal_reader import Entry
from keisei.record.journal_schema import Game
from keisei.web.kept_games import position_at, result_words

#: Boards of one game, the last of them the final position.
BOARDS: Final = 3
LATE_SHARE: Final = 0.75


def chosen_games(games: Sequence[Entry[Game]]) -> dict[str, Entry[Game]]:
    """Up to four games by what they are; each game once. Late ones are from the last quarter of the run."""
    if not games:
        return {}
    decided = [entry for entry in games if entry.content.winner is not None] or list(games)
    late = [entry for entry in decided if entry.update >= LATE_SHARE * decided[-1].update]
    wishes = {
        "The hardest fought of the last quarter": max(late, key=_plies),
        "The quickest win of the last quarter": min(late, key=_plies),
        "The newest": decided[-1],
        "One of the first, to compare": decided[0],
    }
    chosen: dict[str, Entry[Game]] = {}
    for title, entry in wishes.items():
        if entry.row not in {other.row for other in chosen.values()}:
            chosen[title] = entry
    return chosen


def _plies(entry: Entry[Game]) -> int:
    return len(entry.content.moves)


def game_html(title: str, entry: Entry[Game]) -> str:
    """A game as an article: how it ended, boards on the way there, and its moves."""
    game = entry.content
    plies = len(game.moves)
    shown = sorted({round(plies * part / BOARDS) for part in range(1, BOARDS + 1)})
    boards = "\n".join(
        f"<figure>{position_at(game, ply)._repr_svg_()}<figcaption>{_caption(game, ply)}</figcaption></figure>"
        for ply in shown
    )
    moves = " ".join(f"{ply}.&#160;{escape(usi)}" for ply, usi in enumerate(game.moves, 1))
    return (
        f"<article><h3>{escape(title)}</h3>"
        f"<p>{escape(game.black)} against {escape(game.white)}, update {entry.update}: "
        f"{escape(result_words(game))} after {plies} plies.</p>"
        f'<div class="strip">{boards}</div>'
        f"<details><summary>Moves</summary><p>From <code>{escape(game.start_sfen)}</code></p>"
        f'<p class="moves">{moves}</p></details></article>'
    )


def _caption(game: Game, ply: int) -> str:
    return "final position" if ply == len(game.moves) else f"after {ply} plies"
