"""Reader for CSA, the format of computer shogi: digits for squares, the piece as it stands afterwards."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from keisei.errors import RecordError
from keisei.shogi.board_text import Piece, base_type
from keisei.shogi.notation.game_record import Ending, GameRecord, OutsideReason, RecordResult, Replay
from keisei.shogi.notation.japanese import Line
from keisei.shogi.notation.squares import (
    HAND_KINDS,
    board_move_usi,
    drop_usi,
    is_promotion,
    own_piece_type,
    pieces_of_sfen,
    sfen_of,
    square_at,
)
from keisei.shogi.types import SQUARES, STANDARD_SFEN, Color, PieceType, Reason

PIECE_CODES: Final[Mapping[str, PieceType]] = {
    "FU": PieceType.PAWN,
    "KY": PieceType.LANCE,
    "KE": PieceType.KNIGHT,
    "GI": PieceType.SILVER,
    "KI": PieceType.GOLD,
    "KA": PieceType.BISHOP,
    "HI": PieceType.ROOK,
    "OU": PieceType.KING,
    "TO": PieceType.PRO_PAWN,
    "NY": PieceType.PRO_LANCE,
    "NK": PieceType.PRO_KNIGHT,
    "NG": PieceType.PRO_SILVER,
    "UM": PieceType.HORSE,
    "RY": PieceType.DRAGON,
}
"""Piece types by their two-letter codes, which JKF uses as well."""

CLOSING_WORDS: Final[Mapping[str, Ending | RecordResult | None]] = {
    "TORYO": Ending(False, Reason.RESIGNATION),
    "TSUMI": Ending(False, Reason.CHECKMATE),
    "TIME_UP": Ending(False, OutsideReason.TIMEOUT),
    "ILLEGAL_MOVE": Ending(False, OutsideReason.ILLEGAL_MOVE),
    "+ILLEGAL_ACTION": RecordResult(Color.WHITE, OutsideReason.ILLEGAL_MOVE),
    "-ILLEGAL_ACTION": RecordResult(Color.BLACK, OutsideReason.ILLEGAL_MOVE),
    "KACHI": Ending(True, Reason.DECLARATION),
    "SENNICHITE": Ending(None, Reason.REPETITION),
    "JISHOGI": Ending(None, Reason.IMPASSE),
    "MAX_MOVES": Ending(None, Reason.MAX_PLIES),
    "HIKIWAKE": Ending(None, OutsideReason.AGREED_DRAW),
    "CHUDAN": None,
    "FUZUMI": None,
    "MATTA": None,
    "ERROR": None,
}
"""Closing words (JKF uses them too); None for those that leave the game undecided."""

_METADATA_KEYS: Final[Mapping[str, str]] = {
    "EVENT": "event",
    "SITE": "site",
    "START_TIME": "start_date",
    "END_TIME": "end_date",
}
_MOVE: Final = re.compile(r"(?P<side>[+-])(?P<from>00|[1-9][1-9])(?P<to>[1-9][1-9])(?P<piece>[A-Z]{2})")
_PLACED: Final = re.compile(r"(?P<square>00|[1-9][1-9])(?P<piece>[A-Z]{2})")
_VERSION: Final = re.compile(r"V[0-9.]+")
_CLOCK: Final = re.compile(r"T[0-9.]+")
_SIDES: Final[Mapping[str, Color]] = {"+": Color.BLACK, "-": Color.WHITE}
_WHOLE_LINES: Final = ("'", "N+", "N-", "$")
"""Lines in which a comma is part of the text and not a separator of statements."""
_ROW_LINE: Final = re.compile(r"P[1-9].*")
_CELL_WIDTH: Final = 3
# How many of each piece a set has (P L N S G B R); 00AL puts those that are left into a hand.
_PIECES_IN_A_SET: Final = (18, 4, 4, 4, 4, 2, 2)


def read_csa(text: str) -> GameRecord:
    """The one game of a CSA record."""
    statements = list(_statements(text))
    first = next((at for at, line in enumerate(statements) if _is_play(line.text)), len(statements))
    header = _Header()
    for line in statements[:first]:
        header.take(line)
    replay = Replay(header.position.sfen(), "CSA header")
    for comment in header.comments:
        replay.comment(comment)
    result = _play(statements[first:], replay)
    return replay.record(result, black=header.names["+"], white=header.names["-"], metadata=header.metadata)


def result_of_word(word: str, turn: Color, place: str) -> RecordResult | None:
    """The result that a closing word states when ``turn`` is to move."""
    if word not in CLOSING_WORDS:
        raise RecordError(f"{place}: unknown ending {word!r}; known are {', '.join(CLOSING_WORDS)}")
    ending = CLOSING_WORDS[word]
    return ending.result(turn) if isinstance(ending, Ending) else ending


def code_type(code: str, place: str) -> PieceType:
    """Piece type of a two-letter code."""
    if code not in PIECE_CODES:
        raise RecordError(f"{place}: unknown piece {code!r}; known are {', '.join(PIECE_CODES)}")
    return PIECE_CODES[code]


def coded_move_usi(
    replay: Replay, origin: int | None, target: int, after: int, shown: str, place: str
) -> str:
    """USI of a move given by squares and by the type that the piece has after it."""
    if origin is None:
        if after >= HAND_KINDS:
            raise RecordError(f"{place}: move {replay.ply + 1} {shown!r} drops a piece that is never in hand")
        return drop_usi(after, target)
    before = own_piece_type(replay.game, origin)
    if before is None or (before != after and not is_promotion(before, after)):
        found = "no piece of the mover" if before is None else list(PIECE_CODES)[before]
        raise RecordError(
            f"{place}: move {replay.ply + 1} {shown!r} is illegal: it starts from {found}; correct it or an"
            " earlier move"
        )
    return board_move_usi(origin, target, before != after)


def _statements(text: str) -> Iterator[Line]:
    for number, raw in enumerate(re.split(r"\r\n|\r|\n", text), start=1):
        line = raw.rstrip()
        parts = [line] if line.startswith(_WHOLE_LINES) else line.split(",")
        yield from (Line(number, part) for part in parts if part.strip())


def _is_play(text: str) -> bool:
    return text.startswith("%") or _MOVE.fullmatch(text) is not None


class _Position:
    """The start position, put together statement by statement."""

    def __init__(self) -> None:
        self._pieces: list[Piece | None] = [None] * SQUARES
        self._hands = ([0] * HAND_KINDS, [0] * HAND_KINDS)
        self._given = False
        self.turn = Color.BLACK

    def sfen(self) -> str:
        return sfen_of(self._pieces, self._hands, self.turn) if self._given else STANDARD_SFEN

    def take(self, text: str, place: str) -> None:
        """Read a statement that begins with P: PI less removed pieces, rows P1 to P9, single pieces P+ P-."""
        self._given = True
        if text.startswith("PI"):
            self._standard_without(text[2:], place)
        elif _ROW_LINE.fullmatch(text):
            self._row(int(text[1]), text[2:], place)
        elif text[1:2] in _SIDES:
            for square, code in _placed(text[2:], place):
                self._put(_SIDES[text[1]], square, code, place)
        else:
            raise RecordError(f"{place}: expected PI, P1 to P9, P+ or P-, found {text!r}")

    def _standard_without(self, text: str, place: str) -> None:
        self._pieces = pieces_of_sfen(STANDARD_SFEN)
        for square, code in _placed(text, place):
            piece = self._pieces[square] if square is not None else None
            if square is None or piece is None or piece[1] != code_type(code, place):
                raise RecordError(f"{place}: PI cannot remove {code!r}, which is not on the square given")
            self._pieces[square] = None

    def _row(self, rank: int, text: str, place: str) -> None:
        cells = [text[at : at + _CELL_WIDTH] for at in range(0, len(text), _CELL_WIDTH)]
        if len(cells) != 9:
            raise RecordError(f"{place}: expected nine cells of three characters, found {text!r}")
        for column, cell in enumerate(cells):
            piece = None if cell.strip() == "*" else self._cell(cell, place)
            self._pieces[9 * (rank - 1) + column] = piece

    def _cell(self, cell: str, place: str) -> Piece:
        if cell[0] not in _SIDES:
            raise RecordError(f"{place}: expected '+FU', '-FU' or ' * ' in a row, found {cell!r}")
        return (int(_SIDES[cell[0]]), code_type(cell[1:], place))

    def _put(self, color: Color, square: int | None, code: str, place: str) -> None:
        if square is not None:
            self._pieces[square] = (int(color), code_type(code, place))
        elif code == "AL":
            self._take_the_rest(color)
        elif code_type(code, place) < HAND_KINDS:
            self._hands[color][code_type(code, place)] += 1
        else:
            raise RecordError(f"{place}: {code!r} can never be in hand")

    def _take_the_rest(self, color: Color) -> None:
        used = [base_type(piece[1]) for piece in self._pieces if piece]
        for kind, total in enumerate(_PIECES_IN_A_SET):
            left = total - used.count(kind) - self._hands[0][kind] - self._hands[1][kind]
            self._hands[color][kind] += max(left, 0)


def _placed(text: str, place: str) -> Iterator[tuple[int | None, str]]:
    """(square or None for the hand, piece code) for each four characters."""
    for at in range(0, len(text), 4):
        match = _PLACED.fullmatch(text, at, at + 4)
        if match is None:
            raise RecordError(
                f"{place}: expected a square and a piece such as '82HI', found {text[at : at + 4]!r}"
            )
        digits = match["square"]
        yield None if digits == "00" else square_at(int(digits[0]), int(digits[1])), match["piece"]


class _Header:
    """Everything before the first move."""

    def __init__(self) -> None:
        self.names = {"+": "", "-": ""}
        self.metadata: dict[str, str] = {}
        self.comments: list[str] = []
        self.position = _Position()

    def take(self, line: Line) -> None:
        text, place = line.text, f"CSA line {line.number}"
        if text.startswith("'"):
            self.comments += [text[2:]] if text.startswith("'*") else []
        elif text.startswith(("N+", "N-")):
            self.names[text[1]] = text[2:].strip()
        elif text.startswith("$") and ":" in text:
            key, _, value = text[1:].partition(":")
            self.metadata[_METADATA_KEYS.get(key, key)] = value.strip()
        elif text in _SIDES:
            self.position.turn = _SIDES[text]
        elif text.startswith("P"):
            self.position.take(text, place)
        elif not _VERSION.fullmatch(text):
            raise RecordError(
                f"{place}: expected a header (V, N+, N-, $, P, + or -) or a move such as '+7776FU', found"
                f" {text!r}"
            )


def _play(statements: list[Line], replay: Replay) -> RecordResult | None:
    """Play the moves; the result as the record states it."""
    result, closed = None, False
    for line in statements:
        text, place = line.text, f"CSA line {line.number}"
        if text.startswith("'"):
            if text.startswith("'*"):
                replay.comment(text[2:])
        elif text == "/":
            raise RecordError(
                f"{place}: the record holds several games; split it at the lines '/' and read each one"
            )
        elif closed or not (_is_play(text) or _CLOCK.fullmatch(text)):
            expected = "nothing more after the end of the game" if closed else "a move"
            raise RecordError(f"{place}: expected {expected}, found {text!r}")
        elif text.startswith("%"):
            result, closed = result_of_word(text[1:], replay.game.turn, place), True
        elif not _CLOCK.fullmatch(text):
            _play_move(text, replay, place)
    return result


def _play_move(text: str, replay: Replay, place: str) -> None:
    match = _MOVE.fullmatch(text)
    assert match is not None, text
    mover = _SIDES[match["side"]]
    if mover != replay.game.turn:
        raise RecordError(
            f"{place}: move {replay.ply + 1} {text!r} is not {mover.name}'s to make; a move is missing"
        )
    start, end = match["from"], match["to"]
    origin = None if start == "00" else square_at(int(start[0]), int(start[1]))
    target = square_at(int(end[0]), int(end[1]))
    usi = coded_move_usi(replay, origin, target, code_type(match["piece"], place), text, place)
    replay.play(usi, text, place)
