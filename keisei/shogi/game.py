"""One game of shogi with all its rules."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from keisei.errors import IllegalMoveError
from keisei.shogi import _native
from keisei.shogi.move import Move
from keisei.shogi.types import (
    DEFAULT_MAX_PLIES,
    REASONS,
    SQUARES,
    STANDARD_SFEN,
    Color,
    ImpasseRule,
    Outcome,
    PieceType,
    Reason,
)

OBSERVATION_SHAPE: Final = (46, 9, 9)
_PIECE_TYPES: Final = len(PieceType)
_DEFAULT_MATE_NODES: Final = 1_000_000
_MATE_FOUND: Final = 0
_MATE_UNKNOWN: Final = 2


class ShogiGame:
    """A position, the way it was reached, and the rules it is played by.

    >>> game = ShogiGame()
    >>> len(game.legal_moves())
    30
    >>> observation, reward, done, info = game.make_move("7g7f")
    >>> game.turn.name, game.ply, done
    ('WHITE', 1, False)

    ``max_plies`` ends the game as a draw at that ply. ``impasse_rule`` is ``csa27`` (27-point declaration),
    ``csa24``, ``try`` or ``off``. Equality and hash are those of the position: board, hands and side to move.
    """

    __slots__ = ("_game",)

    def __init__(
        self,
        sfen: str | None = None,
        *,
        max_plies: int = DEFAULT_MAX_PLIES,
        impasse_rule: ImpasseRule | str = ImpasseRule.CSA27,
    ) -> None:
        if not 1 <= max_plies <= _native.MAX_PLY:
            raise ValueError(f"max_plies must lie in 1..{_native.MAX_PLY}, not {max_plies!r}")
        self._game = _native.make_game(_ascii(sfen), max_plies, ImpasseRule(impasse_rule).code)

    @classmethod
    def _wrap(cls, native: _native.Game) -> "ShogiGame":
        game = cls.__new__(cls)
        game._game = native
        return game

    # ---- the position

    @property
    def sfen(self) -> str:
        return self._game.sfen

    @property
    def turn(self) -> Color:
        return Color(self._game.turn)

    @property
    def ply(self) -> int:
        """Plies before this position: 0 at the standard start, the SFEN move number less one elsewhere."""
        return self._game.ply

    @property
    def is_in_check(self) -> bool:
        """Is the side to move in check?"""
        return self._game.in_check

    def piece_at(self, square: int) -> tuple[Color, PieceType] | None:
        """What stands on square 0..80 (9a is 0, 1i is 80)."""
        if not 0 <= square < SQUARES:
            raise IndexError(f"squares are numbered 0..80, not {square!r}")
        return _piece(self._game.board[square])

    def hand(self, color: Color) -> tuple[int, ...]:
        """How many P L N S G B R the colour holds."""
        return tuple(self._game.hand(color))

    @property
    def occurrences(self) -> int:
        """How often this position has occurred in this game, now included."""
        return self._game.occurrences

    # ---- the game

    @property
    def start_sfen(self) -> str:
        return self._game.start_sfen

    @property
    def moves(self) -> list[Move]:
        """The moves played since the start."""
        return [Move(code) for code in self._game.moves]

    @property
    def last_move(self) -> Move | None:
        moves = self._game.moves
        return Move(moves[-1]) if moves else None

    @property
    def max_plies(self) -> int:
        return self._game.max_plies

    @property
    def impasse_rule(self) -> ImpasseRule:
        return list(ImpasseRule)[self._game.impasse]

    @property
    def outcome(self) -> Outcome | None:
        return _outcome(self._game.outcome)

    def legal_moves(self) -> list[Move]:
        """The moves that the rules of movement allow here, also after the game has ended."""
        return [Move(code) for code in self._game.legal_moves()]

    def make_move(self, move: Move | str) -> tuple[npt.NDArray[np.float32], float, bool, dict[str, Any]]:
        """Plays a move; returns (observation, reward, done, info).

        The observation is the next mover's. The reward is that of the player who moved: 1 for a win, -1 for a
        loss, 0 otherwise. ``info`` has ``outcome`` and ``truncated`` (the game was stopped at ``max_plies``).
        """
        mover = self.turn
        self.play(move)
        outcome = self.outcome
        reward = 0.0
        if outcome is not None and outcome.winner is not None:
            reward = 1.0 if outcome.winner is mover else -1.0
        truncated = outcome is not None and outcome.reason is Reason.MAX_PLIES
        return (
            self.get_observation(),
            reward,
            outcome is not None,
            {"outcome": outcome, "truncated": truncated},
        )

    def play(self, move: Move | str) -> None:
        """Plays a move and looks at nothing: what `make_move` does, without the observation."""
        self._game.play(_as_move(move).code)

    def undo_move(self) -> Move:
        """Takes back the last move, and with it the outcome."""
        return Move(self._game.undo())

    def reset(self, sfen: str | None = None) -> npt.NDArray[np.float32]:
        """Begins a new game under the same rules; returns the first observation."""
        self._game = _native.make_game(_ascii(sfen), self._game.max_plies, self._game.impasse)
        return self.get_observation()

    def can_declare_win(self) -> bool:
        """May the side to move declare a win now, by the game's impasse rule (27 points unless chosen otherwise)?"""
        outcome = self.declaration()
        return outcome is not None and outcome.winner is self.turn

    def declare_win(self) -> Outcome:
        """Ends the game by declaration; an unjustified declaration is refused.

        Under the 24-point rule a declaration with 24 to 30 points ends the game as a draw by impasse.
        """
        outcome = self.declaration()
        if outcome is None:
            why = "the game is over" if self.outcome is not None else "the conditions are not met"
            raise IllegalMoveError(
                f"{self.turn.name} may not declare in {self.sfen!r}: {why} "
                f"({self._game.impasse_points(self.turn)} points, rule {self.impasse_rule.value!r})"
            )
        self._finish(outcome)
        return outcome

    def resign(self) -> Outcome:
        """The side to move gives up."""
        if self.outcome is not None:
            raise IllegalMoveError(f"the game is over ({self.outcome.reason.value}): nobody can resign")
        outcome = Outcome(self.turn.opponent, Reason.RESIGNATION)
        self._finish(outcome)
        return outcome

    def declaration(self) -> Outcome | None:
        """What a declaration by the side to move would bring now; None when it may not declare."""
        if self.outcome is not None:
            return None
        return _outcome(self._game.declaration(self._game.impasse))

    def _finish(self, outcome: Outcome) -> None:
        winner = -1 if outcome.winner is None else int(outcome.winner)
        self._game.finish(REASONS.index(outcome.reason), winner)

    # ---- for learners and analysts

    def get_observation(self) -> npt.NDArray[np.float32]:
        """float32 (46, 9, 9) in the mover's view; the planes are described in docs/encodings.md."""
        out = np.empty((1, *OBSERVATION_SHAPE), np.float32)
        self._game.observe(out)
        observation: npt.NDArray[np.float32] = out[0]
        return observation

    def pack(self) -> bytes:
        """The position in 96 bytes; the layout is described in docs/encodings.md."""
        return self._game.record()

    @classmethod
    def from_packed(
        cls, record: bytes, *, impasse_rule: ImpasseRule | str = ImpasseRule.CSA27
    ) -> "ShogiGame":
        """A game that begins at a packed position, with the ply cap packed with it."""
        return cls._wrap(_native.game_from_record(record, ImpasseRule(impasse_rule).code))

    def perft(self, depth: int) -> int:
        """The number of legal move sequences of a length."""
        return self._game.perft(_depth(depth, least=0))

    def perft_divide(self, depth: int) -> dict[str, int]:
        """Perft by first move."""
        return {Move(code).usi: nodes for code, nodes in self._game.perft_divide(_depth(depth, least=1))}

    def mate_in_one(self) -> Move | None:
        """A move that mates at once, if there is one."""
        code = self._game.mate_in_one()
        return Move(code) if code else None

    def find_mate(self, max_plies: int = 7, *, max_nodes: int = _DEFAULT_MATE_NODES) -> list[Move] | None:
        """The shortest forced mate by checks within ``max_plies``, None when there is none.

        Raises RuntimeError when ``max_nodes`` positions did not settle the question.
        """
        verdict, line, nodes = self._game.find_mate(max_plies, max_nodes)
        if verdict == _MATE_UNKNOWN:
            raise RuntimeError(
                f"the mate search gave up after {nodes} positions; raise max_nodes={max_nodes}"
            )
        return [Move(code) for code in line] if verdict == _MATE_FOUND else None

    def material(self, color: Color) -> int:
        """Board and hand of the colour less the other side's, in hundredths of a pawn."""
        return self._game.material(color)

    def static_exchange(self, move: Move | str) -> int:
        """What the move gains if both sides go on capturing on its square, in hundredths of a pawn."""
        return self._game.static_exchange(_as_move(move).code)

    def moves_without_mating_reply(self) -> list[Move]:
        """The legal moves that allow no mate in one; all of them when each does."""
        return [Move(code) for code in self._game.moves_without_mating_reply()]

    def greediest_moves(self) -> list[Move]:
        """The legal moves that win the most material at once, without a look at the reply."""
        return [Move(code) for code in self._game.greediest_moves()]

    # ---- Python's protocols

    def copy(self) -> "ShogiGame":
        """An independent game with the same history."""
        return self._wrap(_native.Game(self._game))

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, object]) -> "ShogiGame":
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        ended_by_player = self.outcome is not None and self.outcome.reason in _PLAYER_DECISIONS
        return _restore, (
            self.start_sfen,
            tuple(self._game.moves),
            self.max_plies,
            self.impasse_rule.value,
            self._game.outcome if ended_by_player else None,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ShogiGame):
            return NotImplemented
        return self._game.same_position(other._game)

    def __hash__(self) -> int:
        return hash(self._game.key)

    def __repr__(self) -> str:
        return f"ShogiGame({self.sfen!r})"

    def __str__(self) -> str:
        from keisei.shogi.board_text import board_text

        return board_text(self._pieces(), self._hands(), int(self.turn))

    def _repr_svg_(self) -> str:
        from keisei.shogi.board_svg import board_svg

        last = self.last_move
        return board_svg(
            self._pieces(),
            self._hands(),
            int(self.turn),
            last_move=None if last is None else (last.from_square, last.to_square),
            check=self._pieces().index((self.turn, PieceType.KING)) if self.is_in_check else None,
        )

    def _pieces(self) -> list[tuple[Color, PieceType] | None]:
        return [_piece(code) for code in self._game.board]

    def _hands(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return self.hand(Color.BLACK), self.hand(Color.WHITE)


_PLAYER_DECISIONS: Final = (Reason.RESIGNATION, Reason.DECLARATION, Reason.IMPASSE)


def _ascii(sfen: str | None) -> str:
    """The SFEN, with anything that is not ASCII made visible to the parser's error message."""
    return STANDARD_SFEN if sfen is None else sfen.encode("ascii", "replace").decode("ascii")


def _as_move(move: Move | str) -> Move:
    return Move.from_usi(move) if isinstance(move, str) else move


def _depth(depth: int, least: int) -> int:
    if depth < least:
        raise ValueError(f"depth must be at least {least}, not {depth!r}")
    return depth


def _piece(code: int) -> tuple[Color, PieceType] | None:
    if code == 0:
        return None
    color, piece_type = divmod(code - 1, _PIECE_TYPES)
    return Color(color), PieceType(piece_type)


def _outcome(native: tuple[int, int]) -> Outcome | None:
    reason = REASONS[native[0]]
    if reason is None:
        return None
    return Outcome(None if native[1] < 0 else Color(native[1]), reason)


def _restore(
    sfen: str, moves: tuple[int, ...], max_plies: int, impasse_rule: str, ended: tuple[int, int] | None
) -> ShogiGame:
    game = ShogiGame(sfen, max_plies=max_plies, impasse_rule=impasse_rule)
    for code in moves:
        game._game.play(code)
    if ended is not None:
        game._game.finish(*ended)
    return game
