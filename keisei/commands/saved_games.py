"""Games of a match as record files, written as they end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from keisei.durable_files import next_step_after
from keisei.errors import RecordError
from keisei.shogi import Color, GameRecord, write_record
from keisei.shogi.notation.game_record import RecordResult

if TYPE_CHECKING:
    from keisei.evaluation.arena import MatchResult, PlayedGame


class GameSaver:
    """Writes the games of a match to a folder: 0001-black.kif is the first player's game with Black of pair 1."""

    def __init__(self, folder: Path, suffix: str, match: MatchResult) -> None:
        self._folder = folder
        self._suffix = suffix
        self._names = (match.first, match.second)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            there = next((path for path in folder.glob(f"[0-9]*-*.{suffix}") if path.is_file()), None)
        except OSError as error:
            raise self._failure(error) from error
        if there is not None:
            raise RecordError(
                f"{folder!s} holds games of another match already ({there.name}); choose another folder for --save"
            )

    def save(self, games: Sequence[PlayedGame]) -> None:
        for game in games:
            path = self._folder / f"{game.pair + 1:04d}-{game.first_color.name.lower()}.{self._suffix}"
            try:
                path.write_text(self._text(game), encoding="utf-8")
            except OSError as error:
                raise self._failure(error) from error

    def _text(self, game: PlayedGame) -> str:
        """The record; where the format has no word for how the game ended, the comment alone says it."""
        record = self._record(game)
        try:
            return write_record(record, self._suffix)
        except RecordError:
            return write_record(replace(record, result=None), self._suffix)

    def _record(self, game: PlayedGame) -> GameRecord:
        first, second = self._names
        black, white = (first, second) if game.first_color is Color.BLACK else (second, first)
        moves = tuple(game.game.moves)
        return GameRecord(
            game.game.start_sfen,
            moves,
            black,
            white,
            RecordResult(game.winner, game.reason),
            comments={len(moves): f"{game.reason.value}: {game.note}"} if game.note else {},
        )

    def _failure(self, error: OSError) -> RecordError:
        return RecordError(
            f"cannot save games in {self._folder!s}: {error.strerror}; {next_step_after(error)}"
        )
