"""USI position text."""

import pytest

from keisei.errors import RecordError
from keisei.shogi import STANDARD_SFEN
from keisei.shogi.notation.usi import read_usi


@pytest.mark.parametrize(
    "text",
    (
        "position startpos moves 7g7f 3c3d",
        "startpos moves 7g7f 3c3d",
        f"sfen {STANDARD_SFEN} moves 7g7f 3c3d",
    ),
)
def test_forms(text: str) -> None:
    record = read_usi(text)
    assert record.start_sfen == STANDARD_SFEN
    assert [move.usi for move in record.moves] == ["7g7f", "3c3d"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    (
        ("position", "expected 'startpos' or 'sfen', found 'nothing'"),
        ("go infinite", "found 'go'"),
        ("startpos 7g7f", "expected 'moves' after the start position, found '7g7f'"),
        ("startpos moves 7g7f 7g7f", "move 2 '7g7f' is illegal"),
        ("startpos moves 7g7f resign", "move 2 'resign' is illegal"),
        ("startpos moves ７g７f", "move 1 '７g７f' is illegal"),
        ("sfen 9/9/9/9/9/9/9/9/9 b - 1", "start position is not possible"),
        ("sfen", "start position is not possible"),
    ),
)
def test_errors_say_what_is_wrong(text: str, complaint: str) -> None:
    with pytest.raises(RecordError, match=complaint):
        read_usi(text)
