"""Reader for the position text of USI: ``position startpos moves 7g7f 3c3d``."""

from typing import Final

from keisei.errors import RecordError
from keisei.shogi.notation.game_record import GameRecord, Replay
from keisei.shogi.types import STANDARD_SFEN

_SFEN_WORDS: Final = 4


def read_usi(text: str) -> GameRecord:
    """The game of a USI position, which has no names and no result: the board alone tells how it ended."""
    words = text.split()
    if words[:1] == ["position"]:
        words = words[1:]
    start_sfen, rest = _start(words)
    if rest and rest[0] != "moves":
        raise RecordError(f"USI position: expected 'moves' after the start position, found {rest[0]!r}")
    replay = Replay(start_sfen, "USI position")
    for usi in rest[1:]:
        replay.play(usi, usi, "USI position")
    return replay.record(None, black="", white="", metadata={})


def _start(words: list[str]) -> tuple[str, list[str]]:
    """The start position and the words after it."""
    if words[:1] == ["startpos"]:
        return STANDARD_SFEN, words[1:]
    if words[:1] == ["sfen"]:
        sfen = words[1 : 1 + _SFEN_WORDS]
        # The move number may be left out.
        if "moves" in sfen:
            sfen = sfen[: sfen.index("moves")]
        return " ".join(sfen), words[1 + len(sfen) :]
    found = words[0] if words else "nothing"
    raise RecordError(f"USI position: expected 'startpos' or 'sfen', found {found!r}")
