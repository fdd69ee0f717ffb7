"""Reader for KI2, the notation of books and newspapers, which tells pieces apart by words (▲５八金右)."""

import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from keisei.errors import RecordError
from keisei.shogi.game import ShogiGame
from keisei.shogi.move import Move
from keisei.shogi.notation.game_record import GameRecord, RecordResult, Replay
from keisei.shogi.notation.japanese import (
    PIECE_PATTERN,
    PIECE_TYPES,
    TARGET_PATTERN,
    Line,
    main_lines,
    read_header,
    result_of_sentence,
    target_square,
)
from keisei.shogi.types import Color, PieceType

BLACK_MARKS: Final = "▲▼☗"
WHITE_MARKS: Final = "△▽☖"
_MARKS: Final = BLACK_MARKS + WHITE_MARKS
_TOKEN: Final = re.compile(f"[{_MARKS}][^{_MARKS}]*")
_MOVE: Final = re.compile(
    f"[{_MARKS}]{TARGET_PATTERN}(?P<piece>{PIECE_PATTERN})(?P<which>[右左直上行入寄引下]*)(?P<how>成|不成|生|打)?"
)
_SENTENCE: Final = "まで"
_HORSE_AND_DRAGON: Final = (PieceType.HORSE, PieceType.DRAGON)


class _Offset(NamedTuple):
    """Where the origin of a move lies as seen from its target, in the mover's view."""

    right: int
    behind: int


_WHICH: Final[Mapping[str, Callable[[_Offset], bool]]] = {
    "上": lambda origin: origin.behind > 0,
    "行": lambda origin: origin.behind > 0,
    "入": lambda origin: origin.behind > 0,
    "引": lambda origin: origin.behind < 0,
    "下": lambda origin: origin.behind < 0,
    "寄": lambda origin: origin.behind == 0,
    "直": lambda origin: origin == (0, 1),
    "右": lambda origin: origin.right > 0,
    "左": lambda origin: origin.right < 0,
}


def read_ki2(text: str) -> GameRecord:
    """The main line of a KI2 record; side variations are left out."""
    lines = main_lines(text)
    first = next((at for at, line in enumerate(lines) if _is_body(line)), len(lines))
    header = read_header("KI2", lines[:first])
    body = _Body(header.begin("KI2"))
    for line in lines[first:]:
        body.take(line)
    return header.close(body.replay, body.result)


def _is_body(line: Line) -> bool:
    return line.text.lstrip().startswith((*_MARKS, _SENTENCE))


class _Body:
    """The lines from the first move on."""

    def __init__(self, replay: Replay) -> None:
        self.replay = replay
        self.result: RecordResult | None = None
        self._closed = False
        self._last_target: int | None = None

    def take(self, line: Line) -> None:
        place = f"KI2 line {line.number}"
        text = line.text.strip()
        if line.text.startswith("*"):
            self.replay.comment(line.text[1:])
        elif self._closed or not _is_body(line):
            expected = "nothing more after the end of the game" if self._closed else "moves"
            raise RecordError(f"{place}: expected {expected}, found {text!r}; delete the line")
        elif text.startswith(_SENTENCE):
            self.result = result_of_sentence(text, self.replay.game.turn, place)
            self._closed = True
        else:
            for token in _TOKEN.findall(text):
                self._move(token.strip(), place)

    def _move(self, token: str, place: str) -> None:
        move = move_of(token, self.replay.game, self._last_target, f"{place}: move {self.replay.ply + 1}")
        self.replay.play(move.usi, token, place)
        self._last_target = move.to_square


def move_of(token: str, game: ShogiGame, last_target: int | None, place: str) -> Move:
    """The legal move that ``token`` (such as ▲７六歩) means; 同 stands for ``last_target``."""
    match = _MOVE.fullmatch(token)
    if match is None:
        raise RecordError(f"{place}: expected a move such as '▲７六歩', found {token!r}")
    mover = Color.BLACK if token[0] in BLACK_MARKS else Color.WHITE
    if mover is not game.turn:
        raise RecordError(f"{place} {token!r} is not {mover.name}'s to make; a move is missing")
    fitting = matching_moves(
        game,
        PIECE_TYPES[match["piece"]],
        target_square(match, last_target, place),
        which=match["which"],
        promotes=match["how"] == "成",
        must_drop=match["how"] == "打",
    )
    if len(fitting) != 1:
        raise RecordError(
            f"{place} {token!r} {why_not_one(fitting)} in {game.sfen}; correct it or an earlier move"
        )
    return fitting[0]


def why_not_one(fitting: list[Move]) -> str:
    """What is wrong with a short notation that fits ``fitting`` instead of one move."""
    return (
        f"is ambiguous: {', '.join(map(str, fitting))} fit" if fitting else "is illegal: no legal move fits"
    )


def matching_moves(
    game: ShogiGame, piece_type: int, target: int, *, which: str, promotes: bool, must_drop: bool
) -> list[Move]:
    """Legal moves that a short notation may mean; exactly one when the notation is right."""
    fitting = [move for move in game.legal_moves() if move.to_square == target]
    drops = [move for move in fitting if move.drop_type == piece_type]
    if must_drop:
        return drops if not which and not promotes else []
    on_board = [
        (move, _offset(game.turn, move.from_square, target))
        for move in fitting
        if move.from_square is not None
        and game.piece_at(move.from_square) == (game.turn, piece_type)
        and move.promotes == promotes
    ]
    if not on_board:
        # A drop is marked 打 only where a piece on the board could go there as well.
        return drops if not which and not promotes else []
    return _narrow(on_board, which, piece_type)


def _offset(turn: Color, origin: int, target: int) -> _Offset:
    columns, rows = origin % 9 - target % 9, origin // 9 - target // 9
    return _Offset(columns, rows) if turn is Color.BLACK else _Offset(-columns, -rows)


def _narrow(on_board: list[tuple[Move, _Offset]], which: str, piece_type: int) -> list[Move]:
    candidates = on_board
    for word in which:
        if word in "右左" and piece_type in _HORSE_AND_DRAGON:
            # Two horses or dragons are told apart by their place towards each other, even from the same side.
            extreme = max if word == "右" else min
            edge = extreme((origin.right for _, origin in candidates), default=0)
            candidates = [candidate for candidate in candidates if candidate[1].right == edge]
        else:
            candidates = [candidate for candidate in candidates if _WHICH[word](candidate[1])]
    if which and len(candidates) > 1:
        # Writers name the motion where that suffices: 金右 is not the gold that alone could be called 金上.
        motions = [_motion(origin) for _, origin in on_board]
        candidates = [candidate for candidate in candidates if motions.count(_motion(candidate[1])) > 1]
    return [move for move, _ in candidates]


def _motion(origin: _Offset) -> int:
    """1 for 上, 0 for 寄, -1 for 引."""
    return (origin.behind > 0) - (origin.behind < 0)
