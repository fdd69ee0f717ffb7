"""Game records: read and write KIF, KI2, CSA, JKF and USI text.

The readers in `keisei.shogi.notation` play every move on our own board. Writing goes through rsshogi, whose own
readers (1.7.0) are not used: an illegal move in KI2 ends the interpreter, and KIF, KI2 and CSA that are no record at
all read as an empty game.
"""

import re
from collections.abc import Callable, Mapping
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Final

from keisei.errors import RecordError
from keisei.shogi.board_text import kanji_number
from keisei.shogi.game import ShogiGame
from keisei.shogi.notation.csa import read_csa
from keisei.shogi.notation.game_record import GameRecord, OutsideReason, RecordResult
from keisei.shogi.notation.jkf import read_jkf
from keisei.shogi.notation.ki2 import read_ki2
from keisei.shogi.notation.kif import read_kif
from keisei.shogi.notation.usi import read_usi
from keisei.shogi.types import STANDARD_SFEN, Color, Reason

if TYPE_CHECKING:
    from rsshogi.record import Record, RecordMetadata, SpecialMoveEntry

__all__ = ["GameRecord", "OutsideReason", "RecordResult", "read_record", "write_record"]

_READERS: Final[Mapping[str, Callable[[str], GameRecord]]] = {
    "kif": read_kif,
    "ki2": read_ki2,
    "csa": read_csa,
    "jkf": read_jkf,
    "usi": read_usi,
}
_WRITERS: Final[Mapping[str, Callable[["Record"], str]]] = {
    "kif": methodcaller("to_kif"),
    "ki2": methodcaller("to_ki2"),
    "csa": methodcaller("to_csa"),
    "jkf": methodcaller("to_jkf"),
}
_SUFFIXES: Final[Mapping[str, str]] = {
    ".kif": "kif",
    ".kifu": "kif",
    ".ki2": "ki2",
    ".ki2u": "ki2",
    ".csa": "csa",
    ".jkf": "jkf",
    ".json": "jkf",
    ".usi": "usi",
    ".sfen": "usi",
}
_SIGNS: Final[Mapping[str, re.Pattern[str]]] = {
    "jkf": re.compile(r"\A\s*\{"),
    "usi": re.compile(r"\A\s*(?:position|startpos|sfen)\b"),
    "csa": re.compile(
        r"\A(?:[ \t]*(?:'.*)?\r?\n)*"
        r"(?:V[0-9]|N[+-]|\$[A-Z_]+:|P[I1-9+-]|[+-]\r?$|[+-][0-9]{4}[A-Z]{2}|%[A-Z])",
        re.M,
    ),
    "ki2": re.compile(r"^[ 　]*[▲△▼▽☗☖][1-9１-９同]", re.M),
    "kif": re.compile(r"^(?:[ 　]*[0-9]+[ 　]+[^\s0-9]|手数-+指手|[^\s：:]+：|まで)", re.M),
}
"""What each format looks like, in the order in which they are tried."""

_WINS: Final[Mapping[Reason | OutsideReason, tuple[str, str]]] = {
    Reason.CHECKMATE: ("MATE", ""),
    Reason.DECLARATION: ("WIN_BY_DECLARATION", "_BY_DECLARATION"),
    Reason.NO_LEGAL_MOVES: ("MATE", ""),
    Reason.PERPETUAL_CHECK: ("{}_BY_ILLEGAL_MOVE", "_BY_ILLEGAL_MOVE"),
    Reason.RESIGNATION: ("RESIGN", ""),
    OutsideReason.FORFEIT: ("{}_BY_DEFAULT", "_BY_FORFEIT"),
    OutsideReason.ILLEGAL_MOVE: ("{}_BY_ILLEGAL_MOVE", "_BY_ILLEGAL_MOVE"),
    OutsideReason.TIMEOUT: ("TIMEOUT", "_BY_TIMEOUT"),
}
"""rsshogi's closing move and the end of its result name; {} is WIN or LOSE for the side to move."""
_DRAWS: Final[Mapping[Reason | OutsideReason, tuple[str, str]]] = {
    Reason.IMPASSE: ("IMPASSE", "DRAW_BY_IMPASSE"),
    Reason.MAX_PLIES: ("MAX_MOVES", "DRAW_BY_MAX_PLIES"),
    Reason.REPETITION: ("REPETITION_DRAW", "DRAW_BY_REPETITION"),
    OutsideReason.AGREED_DRAW: ("DRAW", "DRAW_BY_ADJUDICATION"),
}
_HAND_LINE: Final = re.compile(r"^.手の持駒：.*$", re.M)
_ROW_LINE: Final = re.compile(r"^P[1-9].*$", re.M)

_MAX_BYTES: Final = 16 * 2**20
_SHIFT_JIS: Final = "cp932"
"""Shift JIS as Windows has it: what KIF files are written in unless they are UTF-8."""


def read_record(source: str | Path | bytes, format: str | None = None) -> GameRecord:  # noqa: A002
    """Read one game.

    Args:
        source: a `Path`, the text of a record, or its bytes. A string of one line that ends in a known suffix
            (``.kif``, ``.csa``, …) is a path as well. Files and bytes may be UTF-8 or Shift JIS.
        format: kif, ki2, csa, jkf or usi; otherwise the suffix decides, and then the text itself.

    Raises:
        RecordError: the record is damaged, of an unknown format, or has an illegal move; it says where.
    """
    if format is not None and format not in _READERS:
        raise RecordError(f"unknown record format {format!r}; expected one of {', '.join(_READERS)}")
    path = _path_of(source)
    if path is None:
        return _read_text(_decode(source) if isinstance(source, bytes) else str(source), format)
    try:
        return _read_text(_decode(_bytes_of(path)), format or _SUFFIXES.get(path.suffix.lower()))
    except RecordError as error:
        raise RecordError(f"{path}: {error}") from error


def write_record(record: GameRecord | ShogiGame, format: str) -> str:  # noqa: A002
    """The text of a record or of a game as it stands, in kif, ki2, csa, jkf or usi.

    KIF, KI2, CSA and JKF count from move 1, whatever the move number of the start position. USI text has
    neither names nor result. Save KIF as UTF-8, or encode it to ``cp932`` for old programs.

    Raises:
        RecordError: a move of the record is illegal, or the format has no word for how the game ended.
    """
    if format not in _READERS:
        raise RecordError(f"unknown record format {format!r}; expected one of {', '.join(_READERS)}")
    if isinstance(record, ShogiGame):
        record = GameRecord.from_game(record)
    turn = record.replay().turn
    if format == "usi":
        return _usi_text(record)
    try:
        text = _WRITERS[format](_foreign_record(record, turn))
    except ValueError as error:
        raise RecordError(
            f"{format} cannot hold a game that ends with {record.result} and {turn.name} to move ({error});"
            " write it without its result or in another format"
        ) from error
    text = _repair(text, format)
    _check_readable(text, record, format)
    return text


def _path_of(source: str | Path | bytes) -> Path | None:
    if isinstance(source, Path):
        return source
    if isinstance(source, str) and "\n" not in source and source.lower().endswith(tuple(_SUFFIXES)):
        return Path(source)
    return None


def _bytes_of(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise RecordError(f"the file cannot be read: {error}") from error
    if len(data) > _MAX_BYTES:
        raise RecordError(f"the file has more than {_MAX_BYTES} bytes, which no record of one game has")
    return data


def _decode(data: bytes) -> str:
    """Text of a record file. Japanese in Shift JIS is hardly ever valid UTF-8, so UTF-8 is tried first."""
    for encoding in ("utf-8-sig", _SHIFT_JIS):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise RecordError("the bytes are neither UTF-8 nor Shift JIS text; convert the file to UTF-8")


def _read_text(text: str, format_name: str | None) -> GameRecord:
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise RecordError("the record is empty")
    return _READERS[format_name or _format_of(text)](text)


def _format_of(text: str) -> str:
    for format_name, sign in _SIGNS.items():
        if sign.search(text):
            return format_name
    beginning = text.strip().splitlines()[0][:40]
    raise RecordError(
        f"no record format is recognised in text that begins with {beginning!r}; name the format"
        f" ({', '.join(_READERS)}), and pass a pathlib.Path if this is a file name"
    )


def _usi_text(record: GameRecord) -> str:
    start = "startpos" if record.start_sfen == STANDARD_SFEN else f"sfen {record.start_sfen}"
    moves = "".join(f" {move.usi}" for move in record.moves)
    return f"position {start}" + (f" moves{moves}" if moves else "")


def _foreign_record(record: GameRecord, turn: Color) -> "Record":
    """``record`` as rsshogi holds it; ``turn`` is to move at its end."""
    # Imported here: rsshogi takes longer to load than the rest of keisei.shogi.
    from rsshogi.record import MoveEntry, Record

    moves = [
        MoveEntry(move.usi, comment=_comment(record.comments.get(ply)))
        for ply, move in enumerate(record.moves, start=1)
    ]
    return Record.from_main_line(
        record.start_sfen,
        moves,
        _terminal(record.result, turn),
        _foreign_metadata(record),
        _comment(record.comments.get(0)),
    )


def _foreign_metadata(record: GameRecord) -> "RecordMetadata":
    from rsshogi.record import RecordMetadata

    fields = {_one_line(key): _one_line(value) for key, value in record.metadata.items()}
    return RecordMetadata(
        black_player=_one_line(record.black) or None,
        white_player=_one_line(record.white) or None,
        event=fields.pop("event", None),
        site=fields.pop("site", None),
        start_date=fields.pop("start_date", None),
        end_date=fields.pop("end_date", None),
        attributes=fields,
    )


def _terminal(result: RecordResult | None, turn: Color) -> "SpecialMoveEntry | None":
    from rsshogi.record import SpecialMoveEntry

    if result is None:
        return None
    words = (_DRAWS if result.winner is None else _WINS).get(result.reason)
    if words is None:
        raise ValueError(f"{result.reason} does not go with the winner {result.winner}")
    if result.winner is None:
        return SpecialMoveEntry(*words)
    outcome = "WIN" if result.winner is turn else "LOSE"
    return SpecialMoveEntry(words[0].format(outcome), f"{result.winner.name}_WIN{words[1]}")


def _one_line(text: str) -> str:
    """``text`` without line ends and other characters that cannot stand in a line of a record."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _comment(text: str | None) -> str | None:
    lines = [_one_line(line) for line in (text or "").splitlines()]
    return "\n".join(line for line in lines if line) or None


def _repair(text: str, format_name: str) -> str:
    """What rsshogi writes unlike other programs: hands such as 歩18, empty squares such as ``*  ``."""
    if format_name in ("kif", "ki2"):
        return _HAND_LINE.sub(
            lambda line: re.sub("[0-9]+", lambda count: kanji_number(int(count[0])), line[0]), text
        )
    if format_name == "csa":
        return _ROW_LINE.sub(lambda line: line[0].replace("*  ", " * "), text)
    return text


def _check_readable(text: str, record: GameRecord, format_name: str) -> None:
    """A header can look like a part of the game; better no record than one that says something else."""
    again = _READERS[format_name](text)
    same_start = again.start_sfen.split()[:3] == record.start_sfen.split()[:3]
    if again.moves != record.moves or not same_start:
        raise RecordError(
            f"the record does not survive as {format_name}: a header among {sorted(record.metadata)!r} reads"
            " as a part of the game; rename it"
        )
