"""What a game record holds, whichever format it came from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Self

from keisei.errors import IllegalMoveError, RecordError, SfenError
from keisei.shogi._native import MAX_PLY
from keisei.shogi.game import ShogiGame
from keisei.shogi.move import Move
from keisei.shogi.types import Color, ImpasseRule, Reason


class OutsideReason(StrEnum):
    """Ways a recorded game can end that the board knows nothing of."""

    AGREED_DRAW = "agreed_draw"
    FORFEIT = "forfeit"
    ILLEGAL_MOVE = "illegal_move"
    TIMEOUT = "timeout"


@dataclass(frozen=True, slots=True)
class RecordResult:
    """How a recorded game ended; ``winner`` is None for a draw."""

    winner: Color | None
    reason: Reason | OutsideReason


class Ending(NamedTuple):
    """What a closing word of a format means, seen from the side to move when it is written."""

    mover_wins: bool | None
    """None for a draw."""
    reason: Reason | OutsideReason

    def result(self, turn: Color) -> RecordResult:
        """The result when ``turn`` is to move."""
        if self.mover_wins is None:
            return RecordResult(None, self.reason)
        return RecordResult(turn if self.mover_wins else turn.opponent, self.reason)


@dataclass(frozen=True, slots=True)
class GameRecord:
    """One game: where it started, what was played, who played it and how it ended.

    Clock times and side variations of a file are not kept.
    """

    start_sfen: str
    moves: tuple[Move, ...]
    black: str = ""
    white: str = ""
    result: RecordResult | None = None
    """None while the game is unfinished, or when the format does not tell and the board does not either."""
    comments: Mapping[int, str] = field(default_factory=dict)
    """Comment after each ply that has one; 0 stands before the first move."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """Other headers: event, site, start_date and end_date in every format, the rest under their own names."""

    @classmethod
    def from_game(cls, game: ShogiGame, *, black: str = "", white: str = "") -> Self:
        """The record of ``game`` as it stands."""
        outcome = game.outcome
        result = RecordResult(outcome.winner, outcome.reason) if outcome else None
        return cls(game.start_sfen, tuple(game.moves), black, white, result)

    def replay(self) -> ShogiGame:
        """The game after the last recorded move; RecordError at the first move that the rules forbid."""
        replay = Replay(self.start_sfen, "record")
        for move in self.moves:
            replay.play(move.usi, move.usi, "record")
        return replay.game


class Replay:
    """Plays the moves of a record on our own board as they are read, and collects their comments."""

    def __init__(self, start_sfen: str, place: str) -> None:
        # The highest cap there is: a record ends where it says so, not where a training run would cut it.
        try:
            self.game = ShogiGame(start_sfen, max_plies=MAX_PLY, impasse_rule=ImpasseRule.OFF)
        except SfenError as error:
            raise RecordError(f"{place}: the start position is not possible: {error}") from error
        self.ply = 0
        self._comments: dict[int, list[str]] = {}

    def play(self, usi: str, shown: str, place: str) -> None:
        """Play ``usi``, which the record writes as ``shown`` at ``place``."""
        outcome = self.game.outcome
        if outcome is not None:
            raise RecordError(
                f"{place}: move {self.ply + 1} {shown!r} follows the end of the game ({outcome.reason} at"
                f" move {self.ply}); delete the moves after it or correct the earlier ones"
            )
        try:
            self.game.make_move(usi)
        except IllegalMoveError as error:
            raise RecordError(
                f"{place}: move {self.ply + 1} {shown!r} is illegal: {error}; correct it or an earlier move"
            ) from error
        self.ply += 1

    def comment(self, text: str) -> None:
        """Keep one line of comment for the last move played."""
        self._comments.setdefault(self.ply, []).append(text)

    def record(
        self, stated: RecordResult | None, *, black: str, white: str, metadata: Mapping[str, str]
    ) -> GameRecord:
        """The finished record; ``stated`` is the result as the file tells it."""
        comments = {ply: "\n".join(lines) for ply, lines in self._comments.items()}
        return GameRecord(
            self.game.start_sfen,
            tuple(self.game.moves),
            black,
            white,
            self._settle(stated),
            comments,
            metadata,
        )

    def _settle(self, stated: RecordResult | None) -> RecordResult | None:
        """What the file says, sharpened by the board where formats have one word for two endings.

        Perpetual check is written as an illegal move, and a stalemate as a mate.
        """
        outcome = self.game.outcome
        if outcome is None:
            return stated
        seen = RecordResult(outcome.winner, outcome.reason)
        coarse = (OutsideReason.ILLEGAL_MOVE, Reason.CHECKMATE)
        if stated is None or (stated.winner is seen.winner and stated.reason in coarse):
            return seen
        return stated
