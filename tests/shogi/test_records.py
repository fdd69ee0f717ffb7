"""Records as a user meets them: any format, any encoding, damaged or whole."""

import dataclasses
import random
from pathlib import Path

import pytest
from damage import damaged_bytes, damaged_texts
from hypothesis import given
from hypothesis import strategies as st
from sample_games import ENDINGS, FULL_HAND, MIDDLE_GAME, STARTS, random_game

from keisei.errors import KeiseiError, RecordError
from keisei.shogi import STANDARD_SFEN, Color, Move, Reason, ShogiGame
from keisei.shogi.records import GameRecord, OutsideReason, RecordResult, read_record, write_record

FORMATS = ("kif", "ki2", "csa", "jkf", "usi")
FORMATS_WITH_RESULTS = FORMATS[:-1]
DAMAGED_RECORDS = 20_000
SOAK_DAMAGED_RECORDS = 2_000_000


def without_number(sfen: str) -> str:
    """Board, turn and hands: what survives in formats that do not know the move number."""
    return sfen.rsplit(" ", 1)[0]


@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize("start", STARTS)
def test_random_games_survive_the_round_trip(start: str, format_name: str) -> None:
    for seed in range(3):
        game = random_game(seed, STARTS[start])
        record = read_record(write_record(game, format_name))
        assert record.moves == tuple(game.moves)
        assert without_number(record.start_sfen) == without_number(game.start_sfen)


@pytest.mark.parametrize("format_name", FORMATS)
def test_random_games_contain_what_the_round_trip_claims_to_cover(format_name: str) -> None:
    moves = [move for seed in range(3) for move in random_game(seed).moves]
    assert any(move.is_drop for move in moves)
    assert any(move.promotes for move in moves)


@pytest.mark.parametrize("format_name", FORMATS_WITH_RESULTS)
@pytest.mark.parametrize("reason", ENDINGS)
def test_every_outcome_survives_the_round_trip(reason: Reason, format_name: str) -> None:
    game = ENDINGS[reason]()
    outcome = game.outcome
    assert outcome is not None
    assert outcome.reason is reason
    assert read_record(write_record(game, format_name)).result == RecordResult(outcome.winner, reason)


OUTSIDE_RESULTS = (
    RecordResult(None, OutsideReason.AGREED_DRAW),
    RecordResult(Color.BLACK, OutsideReason.FORFEIT),
    RecordResult(Color.WHITE, OutsideReason.FORFEIT),
    RecordResult(Color.BLACK, OutsideReason.ILLEGAL_MOVE),
    RecordResult(Color.WHITE, OutsideReason.ILLEGAL_MOVE),
    RecordResult(Color.WHITE, OutsideReason.TIMEOUT),
)
"""With Black to move, who alone can run out of time."""


@pytest.mark.parametrize("format_name", FORMATS_WITH_RESULTS)
@pytest.mark.parametrize("result", OUTSIDE_RESULTS, ids=str)
def test_endings_that_the_board_does_not_know_survive(result: RecordResult, format_name: str) -> None:
    record = GameRecord(STANDARD_SFEN, (Move.from_usi("7g7f"), Move.from_usi("3c3d")), result=result)
    if result.reason is OutsideReason.FORFEIT and format_name in ("csa", "jkf"):
        with pytest.raises(RecordError, match="in another format"):
            write_record(record, format_name)
    else:
        assert read_record(write_record(record, format_name)).result == result


def test_usi_text_tells_an_ending_that_stands_on_the_board() -> None:
    record = read_record(write_record(ENDINGS[Reason.CHECKMATE](), "usi"))
    assert record.result == RecordResult(Color.BLACK, Reason.CHECKMATE)
    assert read_record("position startpos moves 7g7f").result is None


def test_usi_text_is_what_engines_understand() -> None:
    game = ShogiGame()
    assert write_record(game, "usi") == "position startpos"
    game.make_move("7g7f")
    assert write_record(game, "usi") == "position startpos moves 7g7f"
    assert write_record(ShogiGame(FULL_HAND), "usi") == f"position sfen {FULL_HAND}"


def test_usi_text_may_leave_out_the_move_number() -> None:
    record = read_record("sfen 4k4/9/9/9/9/9/9/9/4K4 b G moves G*5b 5a5b")
    assert [move.usi for move in record.moves] == ["G*5b", "5a5b"]


@pytest.mark.parametrize("format_name", FORMATS_WITH_RESULTS)
def test_names_comments_and_headers_survive(format_name: str) -> None:
    record = GameRecord(
        STANDARD_SFEN,
        (Move.from_usi("7g7f"), Move.from_usi("3c3d")),
        black="先手 太郎",
        white="White, <b> & 'co'",
        comments={0: "before\nthe start", 2: "after 3c3d"},
        metadata={"event": "名人戦", "site": "Tokyo", "start_date": "2026/11/15", "戦型": "横歩取り"},
    )
    again = read_record(write_record(record, format_name))
    assert again == record


@pytest.mark.parametrize("format_name", FORMATS_WITH_RESULTS)
@given(name=st.text(), comment=st.text(), header=st.text())
def test_no_text_can_turn_into_moves(format_name: str, name: str, comment: str, header: str) -> None:
    record = GameRecord(
        STANDARD_SFEN,
        (Move.from_usi("7g7f"),),
        black=name,
        white=name,
        comments={0: comment, 1: comment},
        metadata={"備考": header},
    )
    again = read_record(write_record(record, format_name), format_name)
    assert again.moves == record.moves
    assert again.result is None


@pytest.mark.parametrize("format_name", ("kif", "ki2"))
def test_a_header_that_reads_as_part_of_the_game_is_refused(format_name: str) -> None:
    record = GameRecord(STANDARD_SFEN, (Move.from_usi("7g7f"),), metadata={"変化": "1手"})
    with pytest.raises(RecordError, match="変化"):
        write_record(record, format_name)


@pytest.mark.parametrize("format_name", FORMATS)
def test_an_illegal_move_is_named_with_its_ply(format_name: str) -> None:
    text = {
        "kif": "   1 ７六歩(77)\n   2 ３四歩(33)\n   3 ５四角(88)\n",
        "ki2": "▲７六歩 △３四歩 ▲５五飛\n",
        "csa": "PI\n+\n+7776FU\n-3334FU\n+8854KA\n",
        "jkf": '{"moves":[{},{"move":{"from":{"x":7,"y":7},"to":{"x":7,"y":6},"piece":"FU"}},'
        '{"move":{"from":{"x":3,"y":3},"to":{"x":3,"y":4},"piece":"FU"}},'
        '{"move":{"from":{"x":8,"y":8},"to":{"x":5,"y":4},"piece":"KA"}}]}',
        "usi": "position startpos moves 7g7f 3c3d 8h5d",
    }[format_name]
    with pytest.raises(RecordError, match=r"move 3.*illegal"):
        read_record(text, format_name)


def test_a_record_with_an_illegal_move_is_not_written() -> None:
    record = GameRecord(STANDARD_SFEN, (Move.from_usi("7g7e"),))
    with pytest.raises(RecordError, match=r"move 1 '7g7e'"):
        write_record(record, "kif")


def test_moves_after_the_end_of_the_game_are_an_error() -> None:
    game = ENDINGS[Reason.REPETITION]()
    with pytest.raises(RecordError, match=r"move 13 '7g7f' follows the end of the game \(repetition"):
        read_record(write_record(game, "usi") + " 7g7f")


def test_an_ending_that_a_format_cannot_tell_is_an_error() -> None:
    moves = (Move.from_usi("7g7f"),)
    resigned_out_of_turn = RecordResult(Color.WHITE, Reason.RESIGNATION)
    with pytest.raises(RecordError, match="without its result"):
        write_record(GameRecord(STANDARD_SFEN, moves, result=resigned_out_of_turn), "csa")
    drawn_mate = RecordResult(None, Reason.CHECKMATE)
    with pytest.raises(RecordError, match="checkmate"):
        write_record(GameRecord(STANDARD_SFEN, moves, result=drawn_mate), "kif")


@pytest.mark.parametrize("format_name", FORMATS)
def test_the_text_tells_its_format(format_name: str) -> None:
    for game in (random_game(1), random_game(2, MIDDLE_GAME), ENDINGS[Reason.RESIGNATION]()):
        text = write_record(game, format_name)
        assert read_record(text) == read_record(text, format_name)
        assert read_record(text.replace("\n", "\r\n")) == read_record(text, format_name)


@pytest.mark.parametrize(
    "suffix", (".kif", ".KIF", ".kifu", ".ki2", ".csa", ".jkf", ".json", ".usi", ".sfen")
)
@pytest.mark.parametrize("encoding", ("utf-8", "utf-8-sig", "cp932"))
def test_files_are_read_by_suffix_in_either_encoding(tmp_path: Path, suffix: str, encoding: str) -> None:
    format_name = {"kifu": "kif", "json": "jkf", "sfen": "usi"}.get(suffix[1:].lower(), suffix[1:].lower())
    record = dataclasses.replace(GameRecord.from_game(random_game(4)), black="藤井", white="ソ表")
    path = tmp_path / f"game{suffix}"
    path.write_text(write_record(record, format_name), encoding=encoding)
    assert read_record(path).moves == record.moves
    assert read_record(str(path)) == read_record(path)
    assert read_record(path.read_bytes()) == read_record(path)
    if format_name != "usi":
        assert read_record(path).white == "ソ表"


def test_a_file_without_a_telling_suffix_is_read_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "game.txt"
    path.write_text(write_record(random_game(5), "csa"), encoding="utf-8")
    assert read_record(path).moves == tuple(random_game(5).moves)


def test_errors_name_the_file_and_the_next_step(tmp_path: Path) -> None:
    missing = tmp_path / "missing.kif"
    with pytest.raises(RecordError, match=r"missing\.kif: the file cannot be read"):
        read_record(missing)
    latin = tmp_path / "latin.kif"
    latin.write_bytes(b"\xff\xfe\x00\x81")
    with pytest.raises(RecordError, match="neither UTF-8 nor Shift JIS"):
        read_record(latin)
    with pytest.raises(RecordError, match="expected one of kif, ki2, csa, jkf, usi"):
        read_record("position startpos", "pgn")
    with pytest.raises(RecordError, match="expected one of kif, ki2, csa, jkf, usi"):
        write_record(ShogiGame(), "pgn")
    with pytest.raises(RecordError, match=r"begins with 'hello'.*pathlib\.Path"):
        read_record("hello")


@pytest.mark.parametrize("format_name", (None, *FORMATS))
@pytest.mark.parametrize("text", ("", " \n\t", "\ufeff"))
def test_an_empty_record_is_an_error(text: str, format_name: str | None) -> None:
    with pytest.raises(RecordError, match="empty"):
        read_record(text, format_name)


def test_a_file_far_too_large_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    path = tmp_path / "huge.csa"
    with path.open("wb") as file:
        file.truncate(2**30)
    with pytest.raises(RecordError, match="more than"):
        read_record(path)


def test_record_of_a_game_replays_to_the_same_position() -> None:
    game = random_game(6, MIDDLE_GAME)
    assert GameRecord.from_game(game, black="a").replay() == game


def whole_records(format_name: str) -> list[str]:
    games = [random_game(seed, start, plies=20) for seed, start in enumerate(STARTS.values())]
    games += [ENDINGS[reason]() for reason in ENDINGS]
    return [write_record(game, format_name) for game in games]


def read_damaged_records(count: int, seed: int) -> dict[str, int]:
    """Read ``count`` damaged records; anything but a RecordError passes through."""
    outcomes = {"read": 0, "refused": 0}
    for number, format_name in enumerate(FORMATS):
        texts = damaged_texts(whole_records(format_name), count // len(FORMATS), seed + number)
        for index, text in enumerate(texts):
            try:
                read_record(text, format_name if index % 2 else None)
                outcomes["read"] += 1
            except RecordError:
                outcomes["refused"] += 1
    return outcomes


def test_damaged_records_raise_only_record_errors() -> None:
    outcomes = read_damaged_records(DAMAGED_RECORDS, seed=1)
    assert outcomes["read"] + outcomes["refused"] == DAMAGED_RECORDS
    assert outcomes["refused"] > DAMAGED_RECORDS // 2
    assert outcomes["read"] > 0


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_millions_of_damaged_records_raise_only_record_errors() -> None:
    assert read_damaged_records(SOAK_DAMAGED_RECORDS, seed=1_000)["refused"] > SOAK_DAMAGED_RECORDS // 2


def test_damaged_bytes_raise_only_keisei_errors() -> None:
    rng = random.Random(7)
    sources = [text.encode("cp932") for text in whole_records("kif")]
    refused = 0
    for _ in range(2_000):
        try:
            read_record(damaged_bytes(rng.choice(sources), rng))
        except KeiseiError:
            refused += 1
    assert refused > 100
