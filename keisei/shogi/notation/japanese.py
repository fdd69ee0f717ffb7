"""What KIF and KI2 share: words for pieces and numbers, header lines, the board diagram, closing words."""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from keisei.errors import RecordError
from keisei.shogi.board_text import PIECE_KANJI, Piece
from keisei.shogi.notation.game_record import Ending, GameRecord, OutsideReason, RecordResult, Replay
from keisei.shogi.notation.squares import HAND_KINDS, sfen_of, square_at
from keisei.shogi.notation.starts import KIF_STARTS
from keisei.shogi.types import Color, PieceType, Reason

PIECE_TYPES: Final[Mapping[str, int]] = {
    **{kanji: kind for kind, kanji in enumerate(PIECE_KANJI)},
    "王": PieceType.KING,
    "成香": PieceType.PRO_LANCE,
    "成桂": PieceType.PRO_KNIGHT,
    "成銀": PieceType.PRO_SILVER,
    "竜": PieceType.DRAGON,
}
PIECE_PATTERN: Final = "成[香桂銀]|[" + "".join(name for name in PIECE_TYPES if len(name) == 1) + "]"

DIGITS: Final[Mapping[str, int]] = {
    digit: value
    for digits in ("0123456789", "０１２３４５６７８９", "〇一二三四五六七八九")
    for value, digit in enumerate(digits)
}
TARGET_PATTERN: Final = r"(?:(?P<file>[1-9１-９])(?P<rank>[1-9１-９一二三四五六七八九])|(?P<same>同)[\s　]*)"

METADATA_KEYS: Final[Mapping[str, str]] = {
    "棋戦": "event",
    "場所": "site",
    "開始日時": "start_date",
    "終了日時": "end_date",
}

CLOSING_WORDS: Final[Mapping[str, Ending | None]] = {
    "投了": Ending(False, Reason.RESIGNATION),
    "詰み": Ending(False, Reason.CHECKMATE),
    "切れ負け": Ending(False, OutsideReason.TIMEOUT),
    "反則勝ち": Ending(True, OutsideReason.ILLEGAL_MOVE),
    "反則負け": Ending(False, OutsideReason.ILLEGAL_MOVE),
    "入玉勝ち": Ending(True, Reason.DECLARATION),
    "不戦勝": Ending(True, OutsideReason.FORFEIT),
    "不戦敗": Ending(False, OutsideReason.FORFEIT),
    "千日手": Ending(None, Reason.REPETITION),
    "持将棋": Ending(None, Reason.IMPASSE),
    "最大手数": Ending(None, Reason.MAX_PLIES),
    "裁定引分": Ending(None, OutsideReason.AGREED_DRAW),
    "引き分け": Ending(None, OutsideReason.AGREED_DRAW),
    "中断": None,
    "封じ手": None,
    "不詰": None,
}
"""Closing words of a game; None for those that leave it undecided."""

_PLAYERS: Final[Mapping[str, Color]] = {
    "先手": Color.BLACK,
    "下手": Color.BLACK,
    "後手": Color.WHITE,
    "上手": Color.WHITE,
}
_PLAYER_PATTERN: Final = "(?P<player>" + "|".join(_PLAYERS) + ")"
_HAND_LINE: Final = re.compile(_PLAYER_PATTERN + r"の持ち?駒[：:](?P<held>.*)")
_TURN_LINE: Final = re.compile(_PLAYER_PATTERN + "番")
_HEADER_LINE: Final = re.compile(r"(?P<key>[^：:]+)[：:](?P<value>.*)")
_DIAGRAM_ROW: Final = re.compile(r"\|(?P<cells>(?:[ v][^ v|]){9})\|.?")
_DIAGRAM_FRAME: Final = re.compile(r"[+-]+|[\s　]*９[\s　1-9１-９]*|手数＝.*")
_HELD_PIECE: Final = re.compile(f"(?P<piece>{PIECE_PATTERN})(?P<count>[0-9０-９十〇一二三四五六七八九]*)")
_EMPTY_CELL: Final = "・"
_RESULT_OPENING: Final = re.compile(r"まで(?:[0-9０-９]+手で)?")
_BY_TIME: Final = "時間切れにより"
_MAX_NUMBER: Final = 99
_VARIATION: Final = "変化："


class Line(NamedTuple):
    """One line of a record with its number, for errors."""

    number: int
    text: str


class Header(NamedTuple):
    """What stands before the first move."""

    start_sfen: str
    black: str
    white: str
    metadata: dict[str, str]
    comments: list[str]

    def begin(self, format_name: str) -> Replay:
        """The board at the start of the game, with the comments that stand before the first move."""
        replay = Replay(self.start_sfen, f"{format_name} header")
        for text in self.comments:
            replay.comment(text)
        return replay

    def close(self, replay: Replay, result: RecordResult | None) -> GameRecord:
        """The record of the game that ``replay`` has played."""
        return replay.record(result, black=self.black, white=self.white, metadata=self.metadata)


def main_lines(text: str) -> list[Line]:
    """The lines that count, numbered from 1: no blank lines, remarks (#), bookmarks (&), side variations."""
    lines = []
    # Only real line ends split: a name may hold one of the other separators that str.splitlines knows.
    for number, raw in enumerate(re.split(r"\r\n|\r|\n", text), start=1):
        line = raw.rstrip()
        if line.startswith(_VARIATION):
            break
        if line and not line.startswith(("#", "&")):
            lines.append(Line(number, line))
    return lines


def read_header(format_name: str, lines: Sequence[Line]) -> Header:
    """Header fields, start position and early comments from the lines before the first move."""
    reader = _HeaderReader(format_name)
    for line in lines:
        if line.text.startswith("*"):
            reader.comments.append(line.text[1:])
        else:
            reader.take(line)
    return reader.finish()


def number_from(text: str) -> int | None:
    """A number below 100 in Western or Japanese digits (18, １８, 十八), or None when it is none."""
    tens, ten, ones = text.partition("十")
    if ten:
        parts = (DIGITS.get(tens, -1) if tens else 1, DIGITS.get(ones, -1) if ones else 0)
        return 10 * parts[0] + parts[1] if min(parts) >= 0 else None
    value = 0
    for digit in text:
        value = 10 * value + DIGITS[digit]
        if value > _MAX_NUMBER:
            return None
    return value


def result_of_sentence(text: str, turn: Color, place: str) -> RecordResult | None:
    """The result that a closing sentence states, as in まで85手で先手の勝ち."""
    words = _RESULT_OPENING.sub("", text, count=1).strip("。 \u3000")
    statement = words.removeprefix(_BY_TIME)
    player = next((color for name, color in _PLAYERS.items() if statement.startswith(f"{name}の")), None)
    word = statement if player is None else statement.partition("の")[2]
    if word == "勝ち" and player is not None:
        return RecordResult(player, Reason.RESIGNATION if words == statement else OutsideReason.TIMEOUT)
    if word not in CLOSING_WORDS:
        raise RecordError(
            f"{place}: unknown ending {word!r} in {text!r}; known are {', '.join(CLOSING_WORDS)} and"
            " '先手の勝ち', '後手の勝ち'"
        )
    ending = CLOSING_WORDS[word]
    return ending.result(turn if player is None else player) if ending else None


class _HeaderReader:
    """Collects header lines and the diagram until the first move, then says where the game starts."""

    def __init__(self, format_name: str) -> None:
        self.comments: list[str] = []
        self._format = format_name
        self._fields: dict[str, str] = {}
        self._rows: list[Line] = []
        self._hands: dict[Color, list[int]] = {}
        self._turn: Color | None = None

    def take(self, line: Line) -> None:
        """Read a line that is no move and no comment; RecordError when it is no header line either."""
        text = line.text.strip()
        hand, turn, field = (
            _HAND_LINE.fullmatch(text),
            _TURN_LINE.fullmatch(text),
            _HEADER_LINE.fullmatch(text),
        )
        if hand:
            self._hands[_PLAYERS[hand["player"]]] = self._held(hand["held"], line)
        elif turn:
            self._turn = _PLAYERS[turn["player"]]
        elif text.startswith("|"):
            self._rows.append(line)
        elif field and not text.startswith("手数＝"):
            self._fields[field["key"].strip()] = field["value"].strip()
        elif not _DIAGRAM_FRAME.fullmatch(text) and not text.startswith("手数-"):
            raise RecordError(
                f"{self._place(line)}: expected a header such as '先手：name', a diagram or a move, found"
                f" {text!r}; delete the line or name another format"
            )

    def finish(self) -> Header:
        """The header, once the first move or the end of the text is reached."""
        fields = dict(self._fields)
        start_name = fields.pop("手合割", "平手")
        start_sfen = self._diagram_sfen() if self._rows else self._named_start(start_name)
        names = {Color.BLACK: "", Color.WHITE: ""}
        for word, color in _PLAYERS.items():
            names[color] = fields.pop(word, names[color])
        metadata = {METADATA_KEYS.get(key, key): value for key, value in fields.items()}
        return Header(start_sfen, names[Color.BLACK], names[Color.WHITE], metadata, self.comments)

    def _place(self, line: Line) -> str:
        return f"{self._format} line {line.number}"

    def _named_start(self, name: str) -> str:
        if name not in KIF_STARTS:
            raise RecordError(
                f"{self._format} header 手合割: unknown start {name!r} and no board diagram; known are"
                f" {', '.join(KIF_STARTS)}"
            )
        return KIF_STARTS[name]

    def _held(self, text: str, line: Line) -> list[int]:
        hand = [0] * HAND_KINDS
        for word in text.replace("なし", "").split():
            match = _HELD_PIECE.fullmatch(word)
            kind = PIECE_TYPES[match["piece"]] if match else HAND_KINDS
            count = number_from(match["count"] or "1") if match else None
            if kind >= HAND_KINDS or count is None:
                raise RecordError(
                    f"{self._place(line)}: expected a hand such as '飛　歩三' or 'なし', found {word!r}"
                )
            hand[kind] += count
        return hand

    def _diagram_sfen(self) -> str:
        if len(self._rows) != 9:
            raise RecordError(
                f"{self._place(self._rows[-1])}: expected 9 rows between bars in the diagram, found"
                f" {len(self._rows)}"
            )
        pieces = [piece for row in self._rows for piece in self._diagram_row(row)]
        nothing = [0] * HAND_KINDS
        hands = (self._hands.get(Color.BLACK, nothing), self._hands.get(Color.WHITE, nothing))
        return sfen_of(pieces, hands, self._turn or Color.BLACK)

    def _diagram_row(self, line: Line) -> list[Piece | None]:
        match = _DIAGRAM_ROW.fullmatch(line.text.strip())
        if match is None:
            raise RecordError(
                f"{self._place(line)}: expected nine cells of two characters between bars, found"
                f" {line.text!r}"
            )
        cells = match["cells"]
        return [self._cell(cells[at : at + 2], line) for at in range(0, len(cells), 2)]

    def _cell(self, cell: str, line: Line) -> Piece | None:
        owner, name = cell[0], cell[1]
        if name == _EMPTY_CELL:
            return None
        if name not in PIECE_TYPES:
            raise RecordError(f"{self._place(line)}: unknown piece {name!r} in the diagram row {line.text!r}")
        return (int(owner == "v"), PIECE_TYPES[name])


def target_square(match: re.Match[str], last_target: int | None, place: str) -> int:
    """Square a move goes to, from a match of TARGET_PATTERN; 同 means the square of the move before."""
    if match["same"] is None:
        return square_at(DIGITS[match["file"]], DIGITS[match["rank"]])
    if last_target is None:
        raise RecordError(f"{place}: {match[0]!r} means the square of the move before, and there is none")
    return last_target
