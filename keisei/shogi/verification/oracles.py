"""The independent engines we are compared with, each behind the same few questions.

``None`` as an answer means that this engine cannot be asked this about this position; the reason stands
where ``None`` is returned. The libraries are imported when a game starts, so that none is needed to import
this module.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections import defaultdict
from typing import Any, Protocol

from keisei.shogi.verification.plain_rules import CheckHistory, may_declare

FOURTH = 4
TURN_NAMES = {"b": "black", "w": "white"}


class Oracle(Protocol):
    """An engine that follows one game at a time, move by move."""

    name: str
    share: float  # of the positions; a slow engine follows every move but is asked about a sample

    def available(self) -> bool: ...
    def start(self, sfen: str) -> None:
        """Begin a game; ``ValueError`` when this engine refuses the SFEN."""

    def push(self, usi: str) -> None: ...
    def sfen(self) -> str: ...
    def in_check(self) -> bool: ...
    def legal_moves(self) -> frozenset[str]: ...
    def is_mate(self) -> bool:
        """No legal move, in check or not."""

    def is_fourfold(self) -> bool | None: ...
    def perpetual_loser(self) -> str | None:
        """Asked at a fourth occurrence only: "black", "white" or "nobody"."""

    def can_declare(self) -> bool: ...


class _HandsSeen:
    """Which hands were seen with each board of a game.

    cshogi and rsshogi look back for the *nearest* position with the same board and turn. Had the hands
    changed there, they report a superior or inferior position and look no further, so a true repetition
    behind it stays unseen (and uncounted, for all later occurrences). Such boards are not asked about.
    """

    def __init__(self) -> None:
        self._hands: dict[str, set[str]] = defaultdict(set)
        self.ambiguous = False

    def add(self, sfen: str) -> None:
        board, turn, hands, _ = sfen.split()
        seen = self._hands[f"{board} {turn}"]
        seen.add(hands)
        self.ambiguous = len(seen) > 1


class RsshogiOracle:
    """rsshogi (Rust, MIT). ``legal_moves`` includes every legal non-promotion."""

    name = "rsshogi"
    share = 1.0

    def available(self) -> bool:
        return importlib.util.find_spec("rsshogi") is not None

    def start(self, sfen: str) -> None:
        self._core: Any = importlib.import_module("rsshogi.core")
        states = importlib.import_module("rsshogi.types").RepetitionState
        self._win, self._lose = states.WIN, states.LOSE
        self._board = self._core.Board(sfen)
        self._seen = _HandsSeen()
        self._seen.add(sfen)

    def push(self, usi: str) -> None:
        self._board.apply_usi(usi)
        self._seen.add(self._board.to_sfen())

    def sfen(self) -> str:
        return str(self._board.to_sfen())

    def in_check(self) -> bool:
        return bool(self._board.is_in_check())

    def legal_moves(self) -> frozenset[str]:
        return frozenset(move.to_usi() for move in self._board.legal_moves())

    def is_mate(self) -> bool:
        return bool(self._board.is_mated())

    def is_fourfold(self) -> bool | None:
        # `is_repetition(n)` counts earlier occurrences, so 3 means that this is the fourth.
        return None if self._seen.ambiguous else bool(self._board.is_repetition(FOURTH - 1))

    def perpetual_loser(self) -> str | None:
        # Judged at the fourth occurrence, over all cycles, for the side to move: WIN means that the
        # opponent has given check all along and loses.
        if self._seen.ambiguous:
            return None
        state, turn = self._board.repetition_state(), self.sfen().split()[1]
        if state == self._lose:
            return TURN_NAMES[turn]
        if state == self._win:
            return _other(TURN_NAMES[turn])
        return "nobody"

    def can_declare(self) -> bool:
        # The Python binding has no way to choose an entering-king rule, so `can_declare_win` is always
        # False there; the rule is applied to what the board shows.
        return may_declare(self.sfen(), self.in_check())


class CshogiOracle:
    """cshogi (C++, GPL). ``legal_moves`` is its "LegalAll" list: it includes every legal non-promotion.

    A malformed SFEN or an illegal move ends the interpreter, so it is asked last, and only about games
    that the other oracles have accepted move by move.
    """

    name = "cshogi"
    share = 1.0

    def available(self) -> bool:
        return importlib.util.find_spec("cshogi") is not None

    def start(self, sfen: str) -> None:
        self._cshogi: Any = importlib.import_module("cshogi")
        self._board = self._cshogi.Board(sfen)
        self._seen = _HandsSeen()
        self._judgements: dict[str, list[int]] = defaultdict(list)
        self._record()

    def push(self, usi: str) -> None:
        self._board.push_usi(usi)
        self._record()

    def _record(self) -> None:
        sfen = self.sfen()
        self._seen.add(sfen)
        self._key = sfen.rsplit(" ", 1)[0]
        self._judgements[self._key].append(self._board.is_draw())

    def sfen(self) -> str:
        return str(self._board.sfen())

    def in_check(self) -> bool:
        return bool(self._board.is_check())

    def legal_moves(self) -> frozenset[str]:
        to_usi = self._cshogi.move_to_usi
        return frozenset(to_usi(move) for move in self._board.legal_moves)

    def is_mate(self) -> bool:
        return bool(self._board.is_game_over())

    def is_fourfold(self) -> bool | None:
        # `is_draw` speaks from the second occurrence on and does not count: count what the board showed.
        return len(self._judgements[self._key]) >= FOURTH

    def perpetual_loser(self) -> str | None:
        # Each judgement covers the last cycle only. Perpetual check needs the same one in all cycles, that
        # is at the second, third and fourth occurrence.
        if self._seen.ambiguous:
            return None
        judgements, turn = set(self._judgements[self._key][1:]), self.sfen().split()[1]
        if judgements == {self._cshogi.REPETITION_LOSE}:
            return TURN_NAMES[turn]
        if judgements == {self._cshogi.REPETITION_WIN}:
            return _other(TURN_NAMES[turn])
        return "nobody"

    def can_declare(self) -> bool:
        return bool(self._board.is_nyugyoku())  # 27 points by default


class PythonShogiOracle:
    """python-shogi (pure Python, GPL): slow, so it is asked about a sample of the positions."""

    name = "python-shogi"
    share = 0.02

    def available(self) -> bool:
        return importlib.util.find_spec("shogi") is not None

    def start(self, sfen: str) -> None:
        self._shogi: Any = importlib.import_module("shogi")
        self._board = self._shogi.Board(sfen)
        self._history = CheckHistory()
        self._record()

    def push(self, usi: str) -> None:
        self._board.push_usi(usi)
        self._record()

    def _record(self) -> None:
        turn = "b" if self._board.turn == self._shogi.BLACK else "w"
        self._history.add(self._board.zobrist_hash(), turn, self.in_check())

    def sfen(self) -> str:
        return str(self._board.sfen())

    def in_check(self) -> bool:
        return bool(self._board.is_check())

    def legal_moves(self) -> frozenset[str]:
        return frozenset(move.usi() for move in self._board.legal_moves if not self._mates_by_pawn_drop(move))

    def _mates_by_pawn_drop(self, move: Any) -> bool:
        # Its own drop-pawn-mate test calls a pawn capturable even when every capturer is pinned, so the
        # pawn is dropped and its mate test, which is exact, has the last word.
        if move.drop_piece_type != self._shogi.PAWN:
            return False
        self._board.push(move)
        mate = bool(self._board.is_checkmate())
        self._board.pop()
        return mate

    def is_mate(self) -> bool:
        return bool(self._board.is_checkmate() or self._board.is_stalemate())

    def is_fourfold(self) -> bool | None:
        return bool(self._board.is_fourfold_repetition())

    def perpetual_loser(self) -> str | None:
        return self._history.perpetual_checker()  # it has no notion of perpetual check

    def can_declare(self) -> bool:
        return may_declare(self.sfen(), self.in_check())  # it has no notion of declaration


def _other(name: str) -> str:
    return "white" if name == "black" else "black"


def installed_oracles() -> list[Oracle]:
    """All oracles that can be imported here; cshogi last, see there."""
    oracles: list[Oracle] = [RsshogiOracle(), PythonShogiOracle(), CshogiOracle()]
    return [oracle for oracle in oracles if oracle.available()]
