"""Packed positions in batches: planes against a plain twin, masks in every form, and what the arrays must be."""

import subprocess
import sys
from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest
from plain_observation import plain_observation
from random_play import visited_games, visited_records, walk
from twins import mirrored_sfen

from keisei.errors import ActionError, RecordError
from keisei.shogi import MAX_LEGAL_MOVES, PLANE_SCALE, PLANES, RECORD_BYTES, Color, LegalActions, ShogiGame
from keisei.shogi.policy import PolicyOutputMapper
from keisei.shogi.positions import (
    PIECE_PLANES,
    join_lists,
    legal_actions,
    legal_mask_bits,
    legal_masks,
    masks_from_lists,
    material_balance,
    mirror_records,
    unpack_plane_bits,
    unpack_planes,
    unpack_planes_uint8,
)

SIZES = (2187, 13527)
PLY_PLANE, OCCURRENCE_PLANE, CHECK_PLANE = 43, 44, 45
FLAGS_BYTE = 89


@pytest.fixture(scope="module")
def records() -> np.ndarray:
    return visited_records(3_000, seed=21)


# ---------------------------------------------------------------- observation


def test_the_observation_equals_a_plain_twin() -> None:
    """Occurrences are counted here by the text of positions, check is found here by looking for attackers."""
    seen: Counter[str] = Counter()
    rare = Counter[str]()
    for game in walk(Random(9), 3_000, max_plies=120):
        if not game.moves:
            seen.clear()
        position = game.sfen.rsplit(" ", 1)[0]
        earlier = seen[position]
        seen[position] += 1
        expected = plain_observation(game.sfen, earlier, ply_cap=120)
        assert np.allclose(game.get_observation(), expected, rtol=0, atol=1e-6)
        rare.update({"check": bool(expected[CHECK_PLANE, 0, 0]), f"earlier {earlier}": 1})
    assert rare["check"] >= 50
    assert min(rare["earlier 1"], rare["earlier 2"]) >= 10
    assert rare["earlier 3"] >= 1


def test_batches_show_what_single_games_show() -> None:
    games = list(visited_games(600, seed=22))
    batch = np.stack([np.frombuffer(game.pack(), np.uint8) for game in games])
    assert np.array_equal(unpack_planes(batch), np.stack([game.get_observation() for game in games]))


def test_uint8_planes_times_their_scale_are_the_float_planes(records: np.ndarray) -> None:
    exact, units = unpack_planes(records), unpack_planes_uint8(records)
    assert (exact.dtype, units.dtype) == (np.float32, np.uint8)
    assert exact.shape == units.shape == (len(records), PLANES, 9, 9)
    scaled = units * PLANE_SCALE[:, None, None]
    others = [plane for plane in range(PLANES) if plane != PLY_PLANE]
    assert np.allclose(scaled[:, others], exact[:, others], rtol=0, atol=1e-6)
    assert np.abs(scaled[:, PLY_PLANE] - exact[:, PLY_PLANE]).max() <= 0.5 / 255 + 1e-6
    assert len(np.unique(units[:, PLY_PLANE])) > 50


def test_plane_bits_hold_the_same(records: np.ndarray) -> None:
    exact = unpack_planes(records)
    bits, scalars = unpack_plane_bits(records)
    assert (bits.shape, bits.dtype) == ((len(records), PIECE_PLANES, 2), np.uint64)
    assert (scalars.shape, scalars.dtype) == ((len(records), PLANES - PIECE_PLANES), np.float32)
    squares = np.unpackbits(bits.view(np.uint8), axis=-1, bitorder="little").reshape(
        len(records), PIECE_PLANES, 128
    )
    assert np.array_equal(squares[..., :81].reshape(-1, PIECE_PLANES, 9, 9), exact[:, :PIECE_PLANES])
    assert not squares[..., 81:].any()
    assert np.array_equal(
        np.broadcast_to(scalars[:, :, None, None], exact[:, PIECE_PLANES:].shape), exact[:, PIECE_PLANES:]
    )


def test_the_ply_plane_stays_within_one() -> None:
    past_the_cap = ShogiGame(ShogiGame().sfen.removesuffix("1") + "200", max_plies=100)
    assert past_the_cap.get_observation()[PLY_PLANE].max() == 1.0


# ---------------------------------------------------------------- packed positions


def test_a_packed_position_comes_back_exactly() -> None:
    for game in visited_games(3_000, seed=23):
        record = game.pack()
        again = ShogiGame.from_packed(record)
        assert (again.sfen, again.turn, again.ply, again.max_plies) == (
            game.sfen,
            game.turn,
            game.ply,
            game.max_plies,
        )
        assert (again, hash(again)) == (game, hash(game))
        without_history = bytearray(record)
        without_history[FLAGS_BYTE] &= 0b11  # a game that begins here has no earlier occurrences
        assert again.pack() == bytes(without_history)


def test_a_packed_position_is_small() -> None:
    assert len(ShogiGame().pack()) == RECORD_BYTES <= 104


def test_a_packed_position_begins_a_game_under_the_rules_asked_for() -> None:
    source = ShogiGame(max_plies=77)
    source.make_move("7g7f")
    game = ShogiGame.from_packed(source.pack(), impasse_rule="try")
    assert (game.max_plies, game.impasse_rule, game.moves, game.start_sfen) == (77, "try", [], source.sfen)


def test_the_layout_of_a_packed_position() -> None:
    """Byte by byte, for White, whose view is turned: the layout is a file format."""
    game = ShogiGame("4k3l/9/9/9/9/9/9/9/+P3K4 w 2RBG2S3N3L17Pb3g 300", max_plies=400)
    record = game.pack()
    board = bytearray(81)
    board[80 - 4], board[80 - 8], board[80 - 72], board[80 - 76] = 8, 2, 15 + 8, 15 + 7
    assert record[:81] == board
    assert record[81:85] == bytes([0, 0, 3 << 4, 1])
    assert record[85:89] == bytes([17, 3 | 3 << 4, 2 | 1 << 4, 1 | 2 << 4])
    assert record[89] == 1
    assert record[90:94] == (299).to_bytes(2, "little") + (400).to_bytes(2, "little")
    assert record[94:] == bytes(2)


@pytest.mark.parametrize("length", [0, 95, 97])
def test_a_packed_position_of_another_length_is_refused(length: int) -> None:
    with pytest.raises(RecordError, match=f"96 bytes, not {length}"):
        ShogiGame.from_packed(bytes(length))


@pytest.mark.parametrize(
    ("edits", "reason"),
    [
        ({40: 29}, "out of range"),
        ({40: 255}, "out of range"),
        ({81: 19}, "out of range"),
        ({84: 0x30}, "out of range"),
        ({76: 0}, "king is missing"),
        ({40: 8}, "king"),
        ({0: 2}, "the black lance on 9a could never move"),
        ({81: 1}, "19 pawns"),
        ({45: 1, 55: 0}, "two black pawns on file 9"),
        ({13: 7, 70: 0}, "white, who is not to move, is in check"),
    ],
)
def test_a_packed_position_that_is_impossible_is_refused(edits: dict[int, int], reason: str) -> None:
    record = bytearray(ShogiGame().pack())
    for byte, value in edits.items():
        record[byte] = value
    with pytest.raises(RecordError, match=reason):
        ShogiGame.from_packed(bytes(record))


def test_mirroring_records_mirrors_positions(records: np.ndarray) -> None:
    assert np.array_equal(mirror_records(mirror_records(records)), records)
    for game in visited_games(300, seed=24):
        fresh = ShogiGame(game.sfen)
        row = np.frombuffer(fresh.pack(), np.uint8)[None]
        assert mirror_records(row)[0].tobytes() == ShogiGame(mirrored_sfen(game.sfen)).pack()


# ---------------------------------------------------------------- legal actions and masks


@pytest.mark.parametrize("size", SIZES)
def test_legal_lists_are_those_of_the_games(size: int) -> None:
    mapper = PolicyOutputMapper(size)
    games = list(visited_games(1_500, seed=25))
    actions, counts = legal_actions(np.stack([np.frombuffer(game.pack(), np.uint8) for game in games]), size)
    assert (actions.shape, actions.dtype) == ((len(games), MAX_LEGAL_MOVES), np.uint16)
    assert (counts.shape, counts.dtype) == ((len(games),), np.uint16)
    for game, row, count in zip(games, actions, counts, strict=True):
        assert np.array_equal(row[:count], mapper.legal_indices(game))


@pytest.mark.parametrize("size", SIZES)
def test_masks_agree_in_every_form(records: np.ndarray, size: int) -> None:
    legal = legal_actions(records, size)
    plain = np.zeros((len(records), size), np.bool_)
    for row, actions, count in zip(plain, legal.actions, legal.counts, strict=True):
        row[actions[:count]] = True
    masks = legal_masks(records, size)
    assert masks.dtype == np.bool_
    assert np.array_equal(masks, plain)
    assert np.array_equal(masks_from_lists(legal, size), plain)
    bits = legal_mask_bits(records, size)
    assert (bits.shape, bits.dtype) == ((len(records), -(-size // 8)), np.uint8)
    assert np.array_equal(bits, np.packbits(plain, axis=1, bitorder="little"))


def test_the_most_moves_fit() -> None:
    game = ShogiGame("R8/2K1S1SSk/4B4/9/9/9/9/9/1L1L1L3 b RBGSNLP3g3n17p 1")
    for size in SIZES:
        legal = legal_actions(np.frombuffer(game.pack(), np.uint8)[None], size)
        assert legal.counts.tolist() == [593]
        assert len(set(legal.actions[0].tolist())) == 593


# ---------------------------------------------------------------- arrays


UNPACKERS: dict[str, Any] = {
    "planes": unpack_planes,
    "uint8 planes": unpack_planes_uint8,
    "masks": lambda rows, **more: legal_masks(rows, 2187, **more),
    "masks from lists": lambda rows, **more: masks_from_lists(legal_actions(rows, 2187), 2187, **more),
}


@pytest.mark.parametrize("name", UNPACKERS)
def test_results_go_into_the_callers_array(records: np.ndarray, name: str) -> None:
    unpack = UNPACKERS[name]
    expected = unpack(records)
    out = np.ones_like(expected)
    assert unpack(records, out=out) is out
    assert np.array_equal(out, expected)


@pytest.mark.parametrize("name", UNPACKERS)
@pytest.mark.parametrize("wrong", ["dtype", "strides", "rows", "width", "read-only"])
def test_an_array_that_cannot_be_filled_is_refused(records: np.ndarray, name: str, wrong: str) -> None:
    """Silently filling a converted copy would leave the caller with garbage."""
    unpack = UNPACKERS[name]
    few = records[:4]
    right = unpack(few)
    out = {
        "dtype": right.astype(np.float64),
        "strides": np.repeat(right, 2, axis=0)[::2],
        "rows": right[:3].copy(),
        "width": right[:, :-1].copy(),
        "read-only": right.copy(),
    }[wrong]
    out.flags.writeable = wrong != "read-only"
    with pytest.raises((ValueError, TypeError)):
        unpack(few, out=out)


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((2, 95), np.uint8),
        np.zeros(96, np.uint8),
        np.zeros((2, 96), np.float32),
        np.zeros((2, 96), np.int64),
    ],
    ids=["narrow", "one row", "float", "wide integers"],
)
def test_what_are_no_records_is_refused(wrong: np.ndarray) -> None:
    for unpack in (unpack_planes, unpack_planes_uint8, unpack_plane_bits, mirror_records):
        with pytest.raises((ValueError, TypeError)):
            unpack(wrong)
    with pytest.raises((ValueError, TypeError)):
        legal_actions(wrong, "2187")


def test_scattered_records_are_read_like_those_in_one_piece(records: np.ndarray) -> None:
    few = records[:64]
    scattered = [
        np.repeat(few, 2, axis=0)[::2],
        np.asfortranarray(few),
        np.hstack([few, few])[:, :RECORD_BYTES],
    ]
    for rows in scattered:
        assert np.array_equal(unpack_planes(rows), unpack_planes(few))
        assert np.array_equal(legal_actions(rows, "2187").counts, legal_actions(few, "2187").counts)
        assert np.array_equal(mirror_records(rows), mirror_records(few))


def test_no_records_give_nothing() -> None:
    nothing = np.zeros((0, RECORD_BYTES), np.uint8)
    assert unpack_planes(nothing).shape == (0, PLANES, 9, 9)
    assert legal_actions(nothing, "2187").counts.shape == (0,)
    assert legal_masks(nothing, "13527").shape == (0, 13527)
    assert mirror_records(nothing).shape == (0, RECORD_BYTES)


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_threads_change_nothing(records: np.ndarray, threads: int) -> None:
    assert np.array_equal(unpack_planes(records, num_threads=threads), unpack_planes(records))
    assert np.array_equal(unpack_planes_uint8(records, num_threads=threads), unpack_planes_uint8(records))
    bits, scalars = unpack_plane_bits(records, num_threads=threads)
    assert np.array_equal(bits, unpack_plane_bits(records).bits)
    assert np.array_equal(scalars, unpack_plane_bits(records).scalars)
    assert np.array_equal(legal_masks(records, 2187, num_threads=threads), legal_masks(records, 2187))
    assert np.array_equal(legal_mask_bits(records, 2187, num_threads=threads), legal_mask_bits(records, 2187))
    lists = legal_actions(records, 2187, num_threads=threads)
    assert np.array_equal(masks_from_lists(lists, 2187, num_threads=threads), legal_masks(records, 2187))


TOO_MANY_THREADS = """
import resource
import numpy as np
from keisei.shogi import ShogiGame
from keisei.shogi.positions import unpack_planes
rows = np.frombuffer(ShogiGame().pack(), np.uint8)[None].repeat(640, 0)
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
try:
    print(unpack_planes(rows, num_threads=5_000).shape)
except Exception as error:
    print("refused", error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits address space, as Linux can")
def test_threads_that_cannot_be_started_neither_hang_nor_crash() -> None:
    command = [sys.executable, "-c", TOO_MANY_THREADS]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(("(640, 46, 9, 9)", "refused"))


def test_a_damaged_record_in_a_batch_is_refused(records: np.ndarray) -> None:
    damaged = records[:100].copy()
    damaged[70, :81] = 0
    for unpack in (legal_actions, legal_masks, legal_mask_bits):
        with pytest.raises(RecordError, match="damaged"):
            unpack(damaged, "2187")


def test_a_list_with_an_action_out_of_range_is_refused(records: np.ndarray) -> None:
    legal = legal_actions(records[:10], "13527")
    with pytest.raises(ActionError, match=r"outside 0\.\.2186"):
        masks_from_lists(LegalActions(np.full_like(legal.actions, 2187), legal.counts), "2187")


def test_a_count_beyond_the_list_does_no_harm(records: np.ndarray) -> None:
    legal = legal_actions(records[:10], "2187")
    whole_rows = np.zeros_like(legal.actions)
    assert masks_from_lists(LegalActions(whole_rows, np.full_like(legal.counts, 65_535)), "2187").sum() == 10


def test_colours_alternate_in_the_samples(records: np.ndarray) -> None:
    movers = Counter(Color(int(flag)) for flag in records[:, FLAGS_BYTE] & 1)
    assert min(movers.values()) > 1_000


# ---------------------------------------------------------------- material, joined lists


def test_material_counts_board_and_both_hands() -> None:
    # 18 pawns, 4 silvers and 2 bishops against 3 lances, 1 knight, 2 golds and a rook; a dragon against a gold.
    game = ShogiGame("4k4/9/4g4/9/9/9/9/4+R4/4K4 b 2B4S18Pr2gn3l 1")
    expected = 1300 - 550 + 18 * 100 + 4 * 500 + 2 * 800 - (3 * 300 + 350 + 2 * 550 + 1000)
    assert material_balance(np.frombuffer(game.pack(), np.uint8)) == expected


@pytest.mark.parametrize("threads", [1, 2])
def test_material_is_that_of_the_game(threads: int) -> None:
    games = list(visited_games(400, seed=4))
    packed = np.stack([np.frombuffer(game.pack(), np.uint8) for game in games])
    expected = [game.material(game.turn) for game in games]
    assert material_balance(packed, num_threads=threads).tolist() == expected
    assert material_balance(packed.reshape(20, -1, RECORD_BYTES)).shape == (20, len(games) // 20)


@pytest.mark.parametrize("size", SIZES)
def test_joined_lists_are_the_lists_one_behind_the_other(records: np.ndarray, size: int) -> None:
    lists = legal_actions(records, size)
    room, ends = np.zeros(int(lists.counts.sum()) + 7, np.uint16), np.zeros(len(records), np.int32)
    joined = join_lists(lists, room, ends)
    assert ends.tolist() == np.cumsum(lists.counts, dtype=np.int64).tolist()
    for row, part in enumerate(np.split(joined, ends[:-1])):
        assert part.tolist() == lists.actions[row, : lists.counts[row]].tolist()
    with pytest.raises(ValueError, match="too short"):
        join_lists(lists, room[:10], ends)
