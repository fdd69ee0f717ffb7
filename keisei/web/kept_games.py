"""Kept games as the page shows them: replayed, filtered, as lines of moves and as files to take away."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from html import escape
from typing import Final

from keisei.errors import IllegalMoveError, RecordError, SfenError
from keisei.record.journal_reader import Entry
from keisei.record.journal_schema import Game
from keisei.shogi._native import MAX_PLY
from keisei.shogi.game import ShogiGame
from keisei.shogi.move import Move
from keisei.shogi.notation.game_record import GameRecord, OutsideReason, RecordResult
from keisei.shogi.records import write_record
from keisei.shogi.types import Color, ImpasseRule, Reason

FORMATS: Final = ("kif", "csa", "usi")
_REASONS: Final = {reason.value: reason for kind in (Reason, OutsideReason) for reason in kind}


def position_at(game: Game, ply: int) -> ShogiGame:
    """The game after ``ply`` moves, or as far as it can be replayed.

    The rules that end games are off: a record ends where it says so.
    """
    return position_from(game.start_sfen, game.moves[:ply])


def position_from(sfen: str, moves: Iterable[str]) -> ShogiGame:
    """The position after ``moves``, as far as they are legal; journals are files, and files can be damaged."""
    try:
        board = ShogiGame(sfen, max_plies=MAX_PLY, impasse_rule=ImpasseRule.OFF)
    except SfenError:
        return ShogiGame()
    for usi in moves:
        try:
            board.play(usi)
        except IllegalMoveError:
            break
    return board


def result_words(game: Game) -> str:
    """How the game ended, for people."""
    reason = game.reason.replace("_", " ")
    return f"draw, {reason}" if game.winner is None else f"{game.winner.capitalize()} wins, {reason}"


def moves_html(game: Game, current: int) -> str:
    """The moves as buttons that carry their ply; 0 is the start."""
    labels = ["start", *game.moves]
    return "".join(
        f'<button type="button" data-ply="{ply}"{" aria-current=true" if ply == current else ""}>'
        f'<span class="k-ply">{ply}</span>{escape(label)}</button>'
        for ply, label in enumerate(labels)
    )


def record_text(game: Game, format_name: str) -> str:
    """The game as KIF, CSA or USI text; without its result where the format has no word for it."""
    result = _result(game)
    record = GameRecord(
        game.start_sfen, tuple(Move.from_usi(usi) for usi in game.moves), game.black, game.white, result
    )
    try:
        return write_record(record, format_name)
    except RecordError:
        if result is None:
            raise
        return write_record(replace(record, result=None), format_name)


def _result(game: Game) -> RecordResult | None:
    reason = _REASONS.get(game.reason)
    if reason is None:
        return None
    return RecordResult(None if game.winner is None else Color[game.winner.upper()], reason)


@dataclass(frozen=True)
class GameFilter:
    """Which games to list; an empty field lets all pass."""

    result: str = ""
    """black, white or draw."""
    reason: str = ""
    player: str = ""
    least_plies: int = 0
    most_plies: int = MAX_PLY

    def select(self, games: Iterable[Entry[Game]]) -> list[Entry[Game]]:
        """The games that pass, in their order."""
        return [entry for entry in games if self._passes(entry.content)]

    def _passes(self, game: Game) -> bool:
        player = self.player.casefold()
        return (
            self.result in ("", game.winner or "draw")
            and self.reason in ("", game.reason)
            and (player in game.black.casefold() or player in game.white.casefold())
            and self.least_plies <= len(game.moves) <= self.most_plies
        )
