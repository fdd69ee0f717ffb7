"""SFEN and USI text: what is written is read again, what is impossible is named, what is damaged does no harm."""

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

import numpy as np
import psutil
import pytest
from damage import damaged_texts
from hypothesis import given, settings
from hypothesis import strategies as st
from random_play import SPARSE_SFENS, visited_games

from keisei.errors import IllegalMoveError, SfenError
from keisei.shogi import (
    HANDICAP_SFENS,
    STANDARD_SFEN,
    Color,
    Move,
    PolicyOutputMapper,
    ShogiGame,
    ShogiVectorEnv,
)

DAMAGED_SFENS = 120_000
DAMAGED_MOVES = 80_000
SOAK_ROUNDS = 50
LEAK_ROUNDS = 20_000
SMALL_LEAK_BYTES = 40
HOSTILE_BYTES = Path(__file__).with_name("hostile_bytes.py")
HOSTILE_KINDS = ("packed_positions", "legal_lists", "saved_states", "crowded_boards")


# ---------------------------------------------------------------- round trips


def test_sfens_of_random_games_are_read_as_they_were_written() -> None:
    for game in visited_games(4_000, seed=11):
        again = ShogiGame(game.sfen)
        assert again.sfen == game.sfen
        assert (again, again.ply, again.is_in_check) == (game, game.ply, game.is_in_check)


@settings(max_examples=100)
@given(seed=st.integers(0, 2**32), plies=st.integers(0, 120))
def test_replaying_from_any_sfen_of_a_game_gives_the_same_rest(seed: int, plies: int) -> None:
    rng = Random(seed)
    game = ShogiGame(rng.choice((STANDARD_SFEN, *SPARSE_SFENS)))
    sfens = [game.sfen]
    while len(sfens) <= plies and game.outcome is None:
        game.make_move(rng.choice(game.legal_moves()))
        sfens.append(game.sfen)
    first = rng.randrange(len(sfens))
    again = ShogiGame(sfens[first])
    for move, sfen in zip(game.moves[first:], sfens[first + 1 :], strict=True):
        again.make_move(move)
        assert again.sfen == sfen


def test_a_missing_move_number_means_the_first_move() -> None:
    game = ShogiGame(STANDARD_SFEN.removesuffix(" 1"))
    assert (game.ply, game.sfen) == (0, STANDARD_SFEN)


@pytest.mark.parametrize(
    "text",
    [
        f"  {STANDARD_SFEN}\n",
        STANDARD_SFEN.replace(" ", "   "),
        STANDARD_SFEN.replace(" ", "\t"),
        STANDARD_SFEN.replace("1r5b1", "1r1112b1"),
        STANDARD_SFEN.removesuffix("1") + "001",
    ],
    ids=["blanks around", "wide blanks", "tabs", "split runs", "leading zeros"],
)
def test_sloppy_but_clear_text_is_understood(text: str) -> None:
    assert ShogiGame(text).sfen == STANDARD_SFEN


def test_hands_in_any_order() -> None:
    game = ShogiGame("4k4/9/9/9/9/9/9/9/4K4 b p2GPr3n 1")
    assert game.hand(Color.BLACK) == (1, 0, 0, 0, 2, 0, 0)
    assert game.hand(Color.WHITE) == (1, 0, 3, 0, 0, 0, 1)
    assert game.sfen == "4k4/9/9/9/9/9/9/9/4K4 b 2GPr3np 1"


def test_the_largest_move_number() -> None:
    last = ShogiGame(STANDARD_SFEN.removesuffix("1") + "65534", max_plies=65_534)
    assert (last.ply, last.outcome) == (65_533, None)
    last.make_move("7g7f")
    assert last.outcome is not None, "no game goes beyond what an SFEN can number"
    assert ShogiGame(last.sfen).sfen == last.sfen, "what the engine writes it can read"


# ---------------------------------------------------------------- what is impossible, and where

KINGS = "4k4/9/9/9/9/9/9/9/4K4"

IMPOSSIBLE = {
    "nothing": ("", "found 0 words"),
    "one word": (KINGS, "found 1 words"),
    "no hands": (f"{KINGS} b", "found 2 words"),
    "five words": (f"{KINGS} b - 1 1", "found 5 words"),
    "eight ranks": ("4k4/9/9/9/9/9/9/4K4 b - 1", "the board has 8 ranks instead of 9"),
    "ten ranks": (f"{KINGS}/9 b - 1", "the board has more than 9 ranks"),
    "short rank": ("4k4/9/8/9/9/9/9/9/4K4 b - 1", "rank c has 8 squares instead of 9"),
    "short last rank": ("4k4/9/9/9/9/9/9/9/4K3 b - 1", "rank i has 8 squares instead of 9"),
    "long rank": ("4k4/9/9P/9/9/9/9/9/4K4 b - 1", "rank c has more than 9 squares"),
    "long run": ("4k4/9/P9/9/9/9/9/9/4K4 b - 1", "rank c has more than 9 squares"),
    "unknown piece": ("4k4/9/4x4/9/9/9/9/9/4K4 b - 1", "unknown piece 'x' on rank c"),
    "zero in the board": ("4k4/9/0/9/9/9/9/9/4K4 b - 1", "unknown piece '0' on rank c"),
    "promoted gold": ("4k4/9/4+G4/9/9/9/9/9/4K4 b - 1", "a gold cannot be promoted"),
    "promoted king": ("4+k4/9/9/9/9/9/9/9/4K4 b - 1", "a king cannot be promoted"),
    "plus before a run": ("4k4/9/+9/9/9/9/9/9/4K4 b - 1", "'+' before '9' instead of a piece"),
    "plus before a slash": ("4k4/9/9+/9/9/9/9/9/4K4 b - 1", "'+' before '/' instead of a piece"),
    "plus at the end": (f"{KINGS}+ b - 1", "the board ends with '+'"),
    "wrong turn": (f"{KINGS} x - 1", "the side to move must be 'b' or 'w', not 'x'"),
    "upper case turn": (f"{KINGS} B - 1", "the side to move must be 'b' or 'w', not 'B'"),
    "king in hand": (f"{KINGS} b K 1", "a hand cannot hold 'K'"),
    "unknown piece in hand": (f"{KINGS} b X 1", "a hand cannot hold 'X'"),
    "promoted piece in hand": (f"{KINGS} b +P 1", "a hand cannot hold '+'"),
    "count of zero": (f"{KINGS} b 0P 1", "a count of 0 in hand in '0P'"),
    "count too large": (f"{KINGS} b 19P 1", "more than 18 of one piece in hand in '19P'"),
    "count without piece": (f"{KINGS} b P2 1", "the hands end with a count in 'P2'"),
    "piece named twice": (f"{KINGS} b PP 1", "piece 'P' appears twice in the hands"),
    "move number zero": (f"{KINGS} b - 0", "the move number must be at least 1"),
    "negative move number": (f"{KINGS} b - -1", "must be a positive whole number, not '-1'"),
    "worded move number": (f"{KINGS} b - one", "must be a positive whole number, not 'one'"),
    "huge move number": (f"{KINGS} b - 99999999999999999999", "the move number exceeds 6553"),
    "no white king": ("9/9/9/9/9/9/9/9/4K4 b - 1", "there is no white king"),
    "no black king": ("4k4/9/9/9/9/9/9/9/9 b - 1", "there is no black king"),
    "two black kings": ("4k4/9/9/9/4K4/9/9/9/4K4 b - 1", "two black kings, on 5e and 5i"),
    "two white kings": ("4k4/9/9/9/4k4/9/9/9/4K4 b - 1", "two white kings, on 5a and 5e"),
    "nineteen pawns": ("4k4/9/9/9/P8/9/9/9/4K4 b 9P9p 1", "19 pawns; a set has 18"),
    "five lances": ("4k4/9/9/9/+L+L+L6/9/9/9/4K4 b Ll 1", "5 lances; a set has 4"),
    "five knights": (f"{KINGS} b 5N 1", "5 knights; a set has 4"),
    "five silvers": ("4k4/9/9/9/S+ss6/9/9/9/4K4 b Ss 1", "5 silvers; a set has 4"),
    "five golds": (f"{KINGS} b 3G2g 1", "5 golds; a set has 4"),
    "three bishops": ("4k4/9/9/9/+B8/9/9/9/4K4 b Bb 1", "3 bishops; a set has 2"),
    "three rooks": (f"{KINGS} b 3R 1", "3 rooks; a set has 2"),
    "black pawn on rank a": ("P3k4/9/9/9/9/9/9/9/4K4 b - 1", "the black pawn on 9a could never move"),
    "white pawn on rank i": ("4k4/9/9/9/9/9/9/9/4K3p b - 1", "the white pawn on 1i could never move"),
    "black lance on rank a": ("L3k4/9/9/9/9/9/9/9/4K4 b - 1", "the black lance on 9a could never move"),
    "black knight on rank a": ("N3k4/9/9/9/9/9/9/9/4K4 b - 1", "the black knight on 9a could never move"),
    "black knight on rank b": ("4k4/N8/9/9/9/9/9/9/4K4 b - 1", "the black knight on 9b could never move"),
    "white knight on rank h": ("4k4/9/9/9/9/9/9/8n/4K4 b - 1", "the white knight on 1h could never move"),
    "nifu of black": ("4k4/9/9/6P2/9/6P2/9/9/4K4 b - 1", "two black pawns on file 3, on 3d and 3f (nifu)"),
    "nifu of white": ("4k4/9/9/p8/9/p8/9/9/4K4 b - 1", "two white pawns on file 9, on 9d and 9f (nifu)"),
    "waiting side in check": ("4k4/9/9/9/4R4/9/9/9/4K4 b - 1", "white, who is not to move, is in check on 5a"),
    "black waits in check": ("4k4/9/9/9/4r4/9/9/9/4K4 w - 1", "black, who is not to move, is in check on 5i"),
    "touching kings": ("9/9/9/9/4k4/4K4/9/9/9 b - 1", "white, who is not to move, is in check on 5e"),
}  # fmt: skip


@pytest.mark.parametrize(("sfen", "reason"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_an_impossible_sfen_is_refused_with_the_reason_and_the_place(sfen: str, reason: str) -> None:
    with pytest.raises(SfenError) as error:
        ShogiGame(sfen)
    assert str(error.value).startswith("invalid SFEN: ")
    assert reason in str(error.value)
    assert repr(sfen) in str(error.value)


def test_a_refused_sfen_leaves_a_game_as_it_was() -> None:
    game = ShogiGame()
    game.make_move("7g7f")
    with pytest.raises(SfenError):
        game.reset("nonsense")
    assert [move.usi for move in game.moves] == ["7g7f"]


def test_messages_stay_short_and_printable() -> None:
    with pytest.raises(SfenError) as error:
        ShogiGame("９九" * 500 + "\x00\x1b[31m" + "\ud800" * 5000)
    assert len(str(error.value)) < 400
    assert str(error.value).isprintable()


# ---------------------------------------------------------------- damage


def read_damaged_sfens(count: int, seed: int) -> int:
    """Reads damaged SFENs; returns how many were possible positions all the same."""
    originals = [STANDARD_SFEN, *HANDICAP_SFENS.values(), *SPARSE_SFENS]
    originals += [game.sfen for game in visited_games(200, seed)]
    understood = 0
    for text in damaged_texts(originals, count, seed):
        try:
            game = ShogiGame(text)
        except SfenError:
            continue
        understood += 1
        assert ShogiGame(game.sfen).sfen == game.sfen
    return understood


def play_damaged_moves(count: int, seed: int) -> int:
    """Plays damaged moves in positions of random games; returns how many were legal all the same."""
    games = list(visited_games(100, seed))
    originals = [move.usi for game in games for move in game.legal_moves()]
    played = 0
    for number, usi in enumerate(damaged_texts(originals, count, seed)):
        game = games[number % len(games)]
        before = game.sfen
        try:
            game.make_move(usi)
        except IllegalMoveError:
            assert game.sfen == before
            continue
        assert game.undo_move().usi == usi
        assert game.sfen == before
        played += 1
    return played


def test_damaged_sfens_meet_only_sfen_errors() -> None:
    understood = read_damaged_sfens(DAMAGED_SFENS, seed=1)
    assert 0 < understood < DAMAGED_SFENS / 2, "the damage is neither fatal nor harmless every time"


def test_damaged_moves_meet_only_illegal_move_errors() -> None:
    played = play_damaged_moves(DAMAGED_MOVES, seed=2)
    assert 0 < played < DAMAGED_MOVES / 2


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(SOAK_ROUNDS))
def test_ten_million_damaged_texts(seed: int) -> None:
    read_damaged_sfens(DAMAGED_SFENS, seed=1_000 + seed)
    play_damaged_moves(DAMAGED_MOVES, seed=2_000 + seed)


@pytest.mark.parametrize("kind", [*HOSTILE_KINDS, "forged_moves", "forged_archive"])
def test_hostile_bytes_meet_only_clean_errors(kind: str) -> None:
    run_hostile_bytes(kind, count=10_000, seed=1)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(SOAK_ROUNDS))
@pytest.mark.parametrize("kind", HOSTILE_KINDS)
def test_hostile_bytes_by_the_hundred_thousand(kind: str, seed: int) -> None:
    run_hostile_bytes(kind, count=100_000, seed=100 + seed)


def run_hostile_bytes(kind: str, count: int, seed: int) -> None:
    """In a process of its own: a memory fault would end the process that meets it."""
    command = [sys.executable, str(HOSTILE_BYTES), kind, str(count), str(seed)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HOSTILE_BYTES.parents[1]), *sys.path])}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"exit {result.returncode}: {result.stderr[-2000:]}"


def test_errors_leave_no_memory_behind() -> None:
    """Every kind of refusal, often: what each leaves behind adds up to megabytes if it is a hundred bytes."""
    game, env, mapper = ShogiGame(), ShogiVectorEnv(1, num_threads=1), PolicyOutputMapper("2187")
    record, state, action = bytes(96), env.save_state()[:-1], np.zeros(1, np.int32)
    refusals: list[Callable[[], object]] = [
        lambda: ShogiGame("4k4/9/9/9/9/9/9/9/9 b - 1"),
        lambda: game.make_move("5e5d"),
        lambda: Move.from_usi("7g7"),
        lambda: ShogiGame.from_packed(record),
        lambda: mapper.index_to_move(0, game),
        lambda: env.step(action),
        lambda: env.load_state(state),
    ]
    process = psutil.Process()
    for times in (LEAK_ROUNDS // 10, LEAK_ROUNDS):
        before = process.memory_info().rss
        for refusal in refusals:
            for _ in range(times):
                with suppress(ValueError):
                    refusal()
    assert process.memory_info().rss - before < LEAK_ROUNDS * len(refusals) * SMALL_LEAK_BYTES
