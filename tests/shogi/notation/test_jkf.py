"""JKF in its full and in its short forms."""

import json
from typing import Any

import pytest
from rsshogi.initial_positions import HANDICAP_TO_SFEN
from sample_games import FULL_HAND, random_game

from keisei.errors import RecordError
from keisei.shogi import Color, Reason
from keisei.shogi.notation.game_record import RecordResult
from keisei.shogi.notation.jkf import read_jkf
from keisei.shogi.notation.starts import JKF_STARTS
from keisei.shogi.records import write_record

FIRST = {"from": {"x": 7, "y": 7}, "to": {"x": 7, "y": 6}, "piece": "FU"}
SECOND = {"color": 1, "from": {"x": 3, "y": 3}, "to": {"x": 3, "y": 4}, "piece": "FU"}


def read(*moves: Any, **root: Any) -> Any:
    return read_jkf(json.dumps({"moves": [{}, *moves], **root}))


def test_full_form() -> None:
    record = read(
        {"move": FIRST, "comments": ["first", "move"], "time": {"now": {"m": 0, "s": 1}}},
        {"move": SECOND, "forks": [[{"move": FIRST}]]},
        {"move": {"from": {"x": 8, "y": 8}, "to": {"x": 2, "y": 2}, "piece": "KA", "promote": True}},
        {"move": {"from": {"x": 3, "y": 1}, "same": True, "piece": "GI", "capture": "UM"}},
        {"move": {"to": {"x": 5, "y": 5}, "piece": "KA", "relative": "H"}},
        {"special": "TORYO"},
        header={"先手": "甲", "後手": "乙", "棋戦": "event", "手合割": "平手"},
    )
    assert [move.usi for move in record.moves] == ["7g7f", "3c3d", "8h2b+", "3a2b", "B*5e"]
    assert (record.black, record.white) == ("甲", "乙")
    assert record.metadata == {"event": "event"}
    assert record.comments == {1: "first\nmove"}
    assert record.result == RecordResult(Color.BLACK, Reason.RESIGNATION)


def test_short_form_without_origins() -> None:
    record = read(
        {"move": {"to": {"x": 5, "y": 8}, "piece": "KI", "relative": "R"}},
        {"move": {"to": {"x": 3, "y": 4}, "piece": "FU"}},
    )
    assert [move.usi for move in record.moves] == ["4i5h", "3c3d"]


def test_start_names_agree_with_the_japanese_ones() -> None:
    assert sorted(JKF_STARTS.values()) == sorted(HANDICAP_TO_SFEN.values())


def other_start(**changes: Any) -> dict[str, Any]:
    """The start that we write for a game from FULL_HAND, with some of its data changed."""
    initial = json.loads(write_record(random_game(0, FULL_HAND, plies=0), "jkf"))["initial"]
    return {"preset": "OTHER", "data": {**initial["data"], **changes}}


def test_positions_given_square_by_square() -> None:
    assert read(initial=other_start()).start_sfen == FULL_HAND


@pytest.mark.parametrize(
    ("text", "complaint"),
    (
        ("[", "not JSON"),
        ("[]", "expected an object, found"),
        ("[" * 100_000, "not JSON"),
        ('{"moves": ' + "9" * 5_000 + "}", "not JSON|expected a list"),
        ('{"moves": {}}', "moves: expected a list"),
        ('{"moves": [3]}', r"moves\[0\]: expected an object"),
        ('{"header": 3}', "header: expected an object"),
        ('{"header": {"先手": 3}}', "header.先手: expected text"),
        ('{"initial": {"preset": "7"}}', "unknown start '7'"),
        ('{"initial": {"preset": 7}}', "preset: expected text"),
        ('{"initial": {"preset": "OTHER"}}', "hands: expected Black's and White's hand"),
        ('{"moves": [{"comments": [1]}]}', "comments: expected text"),
        ('{"moves": [{"special": "RESIGN"}]}', "unknown ending 'RESIGN'"),
    ),
)
def test_broken_documents(text: str, complaint: str) -> None:
    with pytest.raises(RecordError, match=complaint):
        read_jkf(text)


@pytest.mark.parametrize(
    ("change", "complaint"),
    (
        ({"piece": None}, "piece: expected text"),
        ({"piece": "XX"}, "unknown piece 'XX'"),
        ({"piece": "KI"}, "the mover has no KI there"),
        ({"to": None}, "expected the square the move goes to"),
        ({"to": {"x": 0, "y": 6}}, "x: expected a number from 1 to 9"),
        ({"to": {"x": True, "y": 6}}, "x: expected a number from 1 to 9"),
        ({"to": {"x": 7, "y": 4}}, "move 1 .* is illegal"),
        ({"color": 1}, "is not WHITE's to make"),
        ({"from": None, "relative": "Q"}, "relative: expected letters"),
        ({"from": None, "relative": "H"}, "no legal move fits"),
        ({"promote": True}, "move 1 .* is illegal"),
    ),
)
def test_broken_moves(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(RecordError, match=complaint):
        read({"move": {**FIRST, **change}})


@pytest.mark.parametrize(
    ("change", "complaint"),
    (
        ({"board": []}, "nine files of nine squares"),
        ({"board": [[{}] * 9] * 9}, "start position is not possible"),
        ({"board": [[{"color": 2, "kind": "FU"}] * 9] * 9}, "color: expected a number from 0 to 1"),
        ({"color": "black"}, "color: expected a number from 0 to 1"),
        ({"hands": [{"OU": 1}, {}]}, "'OU' can never be in hand"),
        ({"hands": [{"FU": 99}, {}]}, "FU: expected a number from 0 to 18"),
    ),
)
def test_broken_positions(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(RecordError, match=complaint):
        read(initial=other_start(**change))


def test_moves_after_the_end_are_an_error() -> None:
    with pytest.raises(RecordError, match="nothing more after the end"):
        read({"special": "CHUDAN"}, {"move": FIRST})
