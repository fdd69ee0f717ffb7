"""Reader for KIF, the format of most shogi programs: one numbered move a line, with its origin in digits."""

import re
from typing import Final

from keisei.errors import RecordError
from keisei.shogi.board_text import PIECE_KANJI
from keisei.shogi.notation.game_record import GameRecord, RecordResult, Replay
from keisei.shogi.notation.japanese import (
    CLOSING_WORDS,
    PIECE_PATTERN,
    PIECE_TYPES,
    TARGET_PATTERN,
    Line,
    main_lines,
    read_header,
    result_of_sentence,
    target_square,
)
from keisei.shogi.notation.squares import HAND_KINDS, board_move_usi, drop_usi, own_piece_type, square_at

_CLOCK: Final = r"[\s　]*(?:\([^()]*\))?[\s　]*\+?"
_NUMBERED: Final = re.compile(r"[\s　]*(?P<number>[0-9]{1,6})[\s　]+(?P<rest>\S.*)")
_MOVE: Final = re.compile(
    f"{TARGET_PATTERN}(?P<piece>{PIECE_PATTERN})"
    r"(?P<how>成|不成|打)?(?:\((?P<from>[1-9][1-9])\))?" + _CLOCK
)
_CLOSING: Final = re.compile(f"(?P<word>{'|'.join(CLOSING_WORDS)}){_CLOCK}")
_SENTENCE: Final = "まで"


def read_kif(text: str) -> GameRecord:
    """The main line of a KIF record; side variations are left out."""
    lines = main_lines(text)
    first = next(
        (
            at
            for at, line in enumerate(lines)
            if _NUMBERED.fullmatch(line.text) or line.text.startswith(_SENTENCE)
        ),
        len(lines),
    )
    header = read_header("KIF", lines[:first])
    body = _Body(header.begin("KIF"))
    for line in lines[first:]:
        body.take(line)
    return header.close(body.replay, body.result)


class _Body:
    """The lines from the first move on."""

    def __init__(self, replay: Replay) -> None:
        self.replay = replay
        self.result: RecordResult | None = None
        self._closed = False
        self._number: int | None = None
        self._last_target: int | None = None

    def take(self, line: Line) -> None:
        place = f"KIF line {line.number}"
        numbered = _NUMBERED.fullmatch(line.text)
        if line.text.startswith("*"):
            self.replay.comment(line.text[1:])
        elif line.text.startswith(_SENTENCE):
            self._sentence(line.text, place)
        elif numbered is None or self._closed:
            expected = "nothing more after the end of the game" if self._closed else "a numbered move"
            raise RecordError(f"{place}: expected {expected}, found {line.text!r}; delete the line")
        else:
            self._count(int(numbered["number"]), place)
            self._move(numbered["rest"], place)

    def _count(self, number: int, place: str) -> None:
        if self._number is not None and number != self._number + 1:
            raise RecordError(
                f"{place}: expected move number {self._number + 1}, found {number}; a line is missing"
            )
        self._number = number

    def _sentence(self, text: str, place: str) -> None:
        """まで85手で先手の勝ち only repeats the closing word where there is one."""
        if not self._closed:
            self.result = result_of_sentence(text, self.replay.game.turn, place)
            self._closed = True

    def _move(self, text: str, place: str) -> None:
        closing, move = _CLOSING.fullmatch(text), _MOVE.fullmatch(text)
        if closing:
            ending = CLOSING_WORDS[closing["word"]]
            self.result = ending.result(self.replay.game.turn) if ending else None
            self._closed = True
        elif move:
            target = target_square(move, self._last_target, place)
            shown = text[: move.end("from") + 1] if move["from"] else text.split(maxsplit=1)[0]
            self.replay.play(self._usi(move, target, shown, place), shown, place)
            self._last_target = target
        else:
            raise RecordError(
                f"{place}: expected a move such as '７六歩(77)' or an ending such as '投了', found {text!r}"
            )

    def _usi(self, move: re.Match[str], target: int, shown: str, place: str) -> str:
        ply = self.replay.ply + 1
        kind = PIECE_TYPES[move["piece"]]
        if move["how"] == "打":
            if kind >= HAND_KINDS or move["from"]:
                raise RecordError(f"{place}: move {ply} {shown!r} drops a piece that is never in hand")
            return drop_usi(kind, target)
        if not move["from"]:
            raise RecordError(
                f"{place}: move {ply} {shown!r} lacks the square it comes from, as in '７六歩(77)'"
            )
        origin = square_at(int(move["from"][0]), int(move["from"][1]))
        found = own_piece_type(self.replay.game, origin)
        if found != kind:
            there = "no piece of the mover" if found is None else PIECE_KANJI[found]
            raise RecordError(
                f"{place}: move {ply} {shown!r} is illegal: {there} stands on {move['from']}, not"
                f" {move['piece']}; correct this move or an earlier one"
            )
        return board_move_usi(origin, target, move["how"] == "成")
