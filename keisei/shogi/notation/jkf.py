"""Reader for JKF, the JSON form of KIF and CSA records used by programs on the web."""

import json
from collections.abc import Mapping
from typing import Any, Final

from keisei.errors import RecordError
from keisei.shogi.board_text import Piece
from keisei.shogi.notation.csa import code_type, result_of_word
from keisei.shogi.notation.game_record import GameRecord, RecordResult, Replay
from keisei.shogi.notation.japanese import METADATA_KEYS
from keisei.shogi.notation.ki2 import matching_moves, why_not_one
from keisei.shogi.notation.squares import HAND_KINDS, board_move_usi, own_piece_type, sfen_of, square_at
from keisei.shogi.notation.starts import JKF_STARTS
from keisei.shogi.types import SQUARES, Color

_RELATIVE_WORDS: Final[Mapping[str, str]] = {"L": "左", "C": "直", "R": "右", "U": "上", "M": "寄", "D": "引"}
_DROP: Final = "H"


def read_jkf(text: str) -> GameRecord:
    """The main line of a JKF record; forks are left out."""
    try:
        root = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"JKF: expected a JSON object, found text that is not JSON ({error})") from error
    node = _Node(root, "JKF")
    header_node = node.child("header")
    header = {key: header_node.text(key) for key in header_node.value}
    replay = Replay(_start_sfen(node.child("initial")), "JKF initial")
    result = _play(node, replay)
    black = header.pop("下手", header.pop("先手", ""))
    white = header.pop("上手", header.pop("後手", ""))
    header.pop("手合割", None)
    metadata = {METADATA_KEYS.get(key, key): value for key, value in header.items()}
    return replay.record(result, black=black, white=white, metadata=metadata)


class _Node:
    """A JSON object with its place; every access says what it expected where."""

    def __init__(self, value: Any, place: str) -> None:
        if not isinstance(value, dict):
            raise RecordError(f"{place}: expected an object, found {_brief(value)}")
        self.value: dict[str, Any] = value
        self.place = place

    def child(self, key: str) -> "_Node":
        """The object under ``key``; an empty one when there is none."""
        return _Node(self.value.get(key, {}), f"{self.place}.{key}")

    def items(self, key: str) -> list[Any]:
        """The list under ``key``; an empty one when there is none."""
        value = self.value.get(key, [])
        if not isinstance(value, list):
            raise RecordError(f"{self.place}.{key}: expected a list, found {_brief(value)}")
        return value

    def text(self, key: str) -> str:
        value = self.value.get(key)
        if not isinstance(value, str):
            raise RecordError(f"{self.place}.{key}: expected text, found {_brief(value)}")
        return value

    def number(self, key: str, low: int, high: int) -> int:
        value = self.value.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise RecordError(
                f"{self.place}.{key}: expected a number from {low} to {high}, found {_brief(value)}"
            )
        return value

    def square(self, key: str) -> int | None:
        """The square {x, y} under ``key``, or None when there is none."""
        if self.value.get(key) is None:
            return None
        at = self.child(key)
        return square_at(at.number("x", 1, 9), at.number("y", 1, 9))


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "…"


def _start_sfen(initial: _Node) -> str:
    preset = initial.text("preset") if initial.value else "HIRATE"
    if preset in JKF_STARTS:
        return JKF_STARTS[preset]
    if preset != "OTHER":
        raise RecordError(
            f"{initial.place}.preset: unknown start {preset!r}; known are {', '.join(JKF_STARTS)}, and OTHER"
            " with data"
        )
    data = initial.child("data")
    hands = [_hand(_Node(hand, f"{data.place}.hands")) for hand in data.items("hands")]
    if len(hands) != len(Color):
        raise RecordError(
            f"{data.place}.hands: expected Black's and White's hand, found {len(hands)} of them"
        )
    return sfen_of(_board(data), (hands[0], hands[1]), Color(data.number("color", 0, 1)))


def _board(data: _Node) -> list[Piece | None]:
    """JKF lists files from 1 to 9, each from rank 1 to 9."""
    files = data.items("board")
    if len(files) != 9 or any(not isinstance(ranks, list) or len(ranks) != 9 for ranks in files):
        raise RecordError(f"{data.place}.board: expected nine files of nine squares")
    pieces: list[Piece | None] = [None] * SQUARES
    for file, ranks in enumerate(files, start=1):
        for rank, value in enumerate(ranks, start=1):
            cell = _Node(value, f"{data.place}.board[{file - 1}][{rank - 1}]")
            if cell.value.get("kind") is not None:
                kind = code_type(cell.text("kind"), cell.place)
                pieces[square_at(file, rank)] = (cell.number("color", 0, 1), kind)
    return pieces


def _hand(node: _Node) -> list[int]:
    hand = [0] * HAND_KINDS
    for code in node.value:
        kind = code_type(code, node.place)
        if kind >= HAND_KINDS:
            raise RecordError(f"{node.place}: {code!r} can never be in hand")
        hand[kind] = node.number(code, 0, 18)
    return hand


def _play(root: _Node, replay: Replay) -> RecordResult | None:
    """Play the moves; the result as the record states it."""
    result, closed, last_target = None, False, None
    for index, value in enumerate(root.items("moves")):
        entry = _Node(value, f"JKF moves[{index}]")
        if "move" in entry.value:
            if closed:
                raise RecordError(
                    f"{entry.place}: expected nothing more after the end of the game, found a move"
                )
            last_target = _play_move(entry.child("move"), replay, last_target)
        for comment in entry.items("comments"):
            if not isinstance(comment, str):
                raise RecordError(f"{entry.place}.comments: expected text, found {_brief(comment)}")
            replay.comment(comment)
        if "special" in entry.value:
            result, closed = result_of_word(entry.text("special"), replay.game.turn, entry.place), True
    return result


def _play_move(move: _Node, replay: Replay, last_target: int | None) -> int:
    """Play one move and return its target square."""
    target = last_target if move.value.get("to") is None and move.value.get("same") else move.square("to")
    if target is None:
        raise RecordError(f"{move.place}.to: expected the square the move goes to, found none")
    if "color" in move.value and move.number("color", 0, 1) != replay.game.turn:
        raise RecordError(
            f"{move.place}: move {replay.ply + 1} {_brief(move.value)} is not"
            f" {replay.game.turn.opponent.name}'s to make; a move is missing"
        )
    replay.play(_usi(move, replay, target), _brief(move.value), move.place)
    return target


def _usi(move: _Node, replay: Replay, target: int) -> str:
    kind = code_type(move.text("piece"), move.place)
    promotes = move.value.get("promote") is True
    origin = move.square("from")
    if origin is None:
        return _short_usi(move, replay, kind, target, promotes)
    if own_piece_type(replay.game, origin) != kind:
        raise RecordError(
            f"{move.place}: move {replay.ply + 1} {_brief(move.value)} is illegal: the mover has no"
            f" {move.text('piece')} there; correct this move or an earlier one"
        )
    return board_move_usi(origin, target, promotes)


def _short_usi(move: _Node, replay: Replay, kind: int, target: int, promotes: bool) -> str:
    """A drop, or a move that came from KI2 and tells pieces apart by words."""
    relative = move.text("relative") if "relative" in move.value else ""
    must_drop = relative == _DROP
    which = "" if must_drop else "".join(_RELATIVE_WORDS.get(letter, "?") for letter in relative)
    if "?" in which:
        raise RecordError(f"{move.place}.relative: expected letters of 'LCRUMDH', found {relative!r}")
    fitting = matching_moves(replay.game, kind, target, which=which, promotes=promotes, must_drop=must_drop)
    if len(fitting) != 1:
        raise RecordError(
            f"{move.place}: move {replay.ply + 1} {_brief(move.value)} {why_not_one(fitting)} in"
            f" {replay.game.sfen}"
        )
    return fitting[0].usi
