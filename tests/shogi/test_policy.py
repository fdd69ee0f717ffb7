"""Policy indices: the formulas written down again, slowly, and the symmetries they must respect."""

from functools import cache
from random import Random

import numpy as np
import pytest
from random_play import SPARSE_SFENS, visited_games
from twins import mirrored_sfen, mirrored_usi, turned_sfen, turned_usi

from keisei.errors import ActionError, IllegalMoveError
from keisei.shogi import (
    COMPACT_ACTIONS,
    FULL_ACTIONS,
    Color,
    Move,
    PolicyOutputMapper,
    ShogiGame,
)
from keisei.shogi.policy import action_count

SIZES = (COMPACT_ACTIONS, FULL_ACTIONS)
POSITIONS = 20_000
HELD = "PLNSGBR"
#: Directions of the 2,187 mapping in order, as (rows, columns) in the mover's view; the knight's jumps come last.
DIRECTIONS = [(-1, 0), (-1, -1), (-1, 1), (0, -1), (0, 1), (1, 0), (1, -1), (1, 1), (-2, -1), (-2, 1)]


def seen_square(name: str, mover: Color) -> int:
    """9 * row + column in the mover's view, row 0 = rank a and column 0 = file 9 for Black."""
    row, column = "abcdefghi".index(name[1]), "987654321".index(name[0])
    return 9 * row + column if mover is Color.BLACK else 9 * (8 - row) + (8 - column)


def full_index(usi: str, mover: Color) -> int:
    to = seen_square(usi[2:4], mover)
    if usi[1] == "*":
        return 12_960 + to * 7 + HELD.index(usi[0])
    origin = seen_square(usi[:2], mover)
    return origin * 160 + (to - (to > origin)) * 2 + usi.endswith("+")


def compact_index(usi: str, mover: Color) -> int | None:
    """None for a board move along no line."""
    to = seen_square(usi[2:4], mover)
    if usi[1] == "*":
        return (20 + HELD.index(usi[0])) * 81 + to
    origin = seen_square(usi[:2], mover)
    vector = (to // 9 - origin // 9, to % 9 - origin % 9)
    if vector in DIRECTIONS[8:]:
        direction = vector
    elif 0 in vector or abs(vector[0]) == abs(vector[1]):
        length = max(abs(vector[0]), abs(vector[1]))
        direction = (vector[0] // length, vector[1] // length)
    else:
        return None
    return (DIRECTIONS.index(direction) + 10 * usi.endswith("+")) * 81 + to


def every_move() -> list[str]:
    squares = [file + rank for rank in "abcdefghi" for file in "987654321"]
    board = [a + b + sign for a in squares for b in squares if a != b for sign in ("", "+")]
    return board + [f"{piece}*{square}" for piece in HELD for square in squares]


@cache
def plain_table(size: int) -> dict[tuple[int, Color], int | None]:
    """The formulas' index of every move, by the move's code and the mover."""
    formula = compact_index if size == COMPACT_ACTIONS else full_index
    return {(Move.from_usi(usi).code, mover): formula(usi, mover) for usi in every_move() for mover in Color}


# ---------------------------------------------------------------- the formulas


@pytest.mark.parametrize("size", SIZES)
def test_every_move_has_the_index_of_the_formula(size: int) -> None:
    mapper = PolicyOutputMapper(size)
    for (code, mover), expected in plain_table(size).items():
        if expected is None:
            with pytest.raises(ActionError, match="has no index among 2187 actions"):
                mapper.move_to_index(Move(code), mover)
        else:
            assert mapper.move_to_index(Move(code), mover) == expected


def test_the_full_mapping_is_one_to_one_and_leaves_no_gap() -> None:
    for mover in Color:
        indices = [full_index(usi, mover) for usi in every_move()]
        assert sorted(indices) == list(range(FULL_ACTIONS))


@pytest.mark.parametrize("size", SIZES)
def test_every_legal_move_of_many_positions_goes_there_and_back(size: int) -> None:
    mapper, table = PolicyOutputMapper(size), plain_table(size)
    moves = 0
    for game in visited_games(POSITIONS, seed=size):
        legal = game.legal_moves()
        indices = mapper.legal_indices(game)
        assert indices.tolist() == [table[move.code, game.turn] for move in legal]
        assert len(set(indices.tolist())) == len(legal), "injective on the legal moves"
        assert mapper.indices_to_moves(indices, game) == legal
        moves += len(legal)
    assert moves > 20 * POSITIONS


def test_the_order_of_directions_is_that_of_an_independent_library() -> None:
    """rsshogi numbers squares by files and puts gold last among the drops; otherwise its labels are ours."""
    policy = pytest.importorskip("rsshogi.policy")
    colors = pytest.importorskip("rsshogi.types").Color
    drop_order = "PLNSBRG"
    for usi in every_move():
        for mover, theirs in ((Color.BLACK, colors.BLACK), (Color.WHITE, colors.WHITE)):
            ours = compact_index(usi, mover)
            if ours is None:
                continue
            plane, square = divmod(ours, 81)
            if plane >= 20:
                plane = 20 + drop_order.index(HELD[plane - 20])
            by_files = (8 - square % 9) * 9 + square // 9
            assert policy.move_label(usi, theirs) == plane * 81 + by_files


# ---------------------------------------------------------------- symmetries


def twins(game: ShogiGame) -> tuple[ShogiGame, ShogiGame]:
    """The position without its history, for Black and for White or the other way round."""
    return ShogiGame(game.sfen), ShogiGame(turned_sfen(game.sfen))


def test_g2_observation_and_actions_turn_together() -> None:
    mappers = [PolicyOutputMapper(size) for size in SIZES]
    other_planes = [plane for plane in range(46) if plane != 42]
    for game in visited_games(1_500, seed=3):
        one, twin = twins(game)
        assert one.turn is twin.turn.opponent
        seen, seen_by_twin = one.get_observation(), twin.get_observation()
        assert np.array_equal(seen[other_planes], seen_by_twin[other_planes])
        assert {seen[42].max(), seen_by_twin[42].max()} == {0.0, 1.0}
        for mapper in mappers:
            assert sorted(mapper.legal_indices(one)) == sorted(mapper.legal_indices(twin))


@pytest.mark.parametrize("size", SIZES)
def test_g2_a_move_and_its_turned_twin_share_their_index(size: int) -> None:
    mapper = PolicyOutputMapper(size)
    for game in visited_games(300, seed=4):
        one, twin = twins(game)
        for move in one.legal_moves():
            index = mapper.move_to_index(move, one.turn)
            assert mapper.move_to_index(turned_usi(move.usi), twin.turn) == index
            assert mapper.index_to_move(index, twin).usi == turned_usi(move.usi)


@pytest.mark.parametrize("size", SIZES)
def test_the_flip_is_its_own_inverse(size: int) -> None:
    table = PolicyOutputMapper(size).flip_table
    assert (table.shape, table.dtype) == ((size,), np.uint16)
    assert np.array_equal(table[table], np.arange(size))
    assert not table.flags.writeable


@pytest.mark.parametrize("size", SIZES)
def test_the_flip_commutes_with_mirroring_the_position(size: int) -> None:
    mapper = PolicyOutputMapper(size)
    for game in visited_games(1_500, seed=5):
        image = ShogiGame(mirrored_sfen(game.sfen))
        assert sorted(mapper.flip_indices(mapper.legal_indices(game))) == sorted(mapper.legal_indices(image))


@pytest.mark.parametrize("size", SIZES)
def test_the_flip_of_every_move_is_its_mirror_image(size: int) -> None:
    flip = PolicyOutputMapper(size).flip_table
    formula = compact_index if size == COMPACT_ACTIONS else full_index
    for usi in every_move():
        for mover in Color:
            index = formula(usi, mover)
            if index is not None:
                assert flip[index] == formula(mirrored_usi(usi), mover)


def test_flipping_keeps_the_shape() -> None:
    mapper = PolicyOutputMapper("2187")
    indices = np.arange(24).reshape(2, 3, 4)
    assert mapper.flip_indices(indices).shape == (2, 3, 4)
    assert np.array_equal(mapper.flip_indices(mapper.flip_indices(indices)), indices)


# ---------------------------------------------------------------- masks, lists, errors


@pytest.mark.parametrize("size", SIZES)
def test_the_mask_marks_exactly_the_legal_indices(size: int) -> None:
    mapper = PolicyOutputMapper(size)
    for game in visited_games(200, seed=6):
        mask = mapper.legal_mask(game)
        assert (mask.shape, mask.dtype) == ((size,), np.bool_)
        assert np.flatnonzero(mask).tolist() == sorted(mapper.legal_indices(game).tolist())


@pytest.mark.parametrize("size", SIZES)
def test_lists_of_moves_and_indices(size: int) -> None:
    mapper = PolicyOutputMapper(size)
    game = ShogiGame(SPARSE_SFENS[0])
    legal = game.legal_moves()
    indices = mapper.moves_to_indices(legal, game.turn)
    assert indices.dtype == np.int32
    assert indices.tolist() == mapper.legal_indices(game).tolist()
    assert mapper.indices_to_moves(indices.tolist(), game) == legal
    assert mapper.moves_to_indices([], game.turn).shape == (0,)


@pytest.mark.parametrize("size", SIZES)
def test_an_index_of_no_legal_move_is_refused_with_the_position(size: int) -> None:
    mapper = PolicyOutputMapper(size)
    for game in (ShogiGame(), ShogiGame(SPARSE_SFENS[1])):
        legal = set(mapper.legal_indices(game).tolist())
        others = Random(size).sample([index for index in range(size) if index not in legal], 800)
        for index in (-1, size, 65_535, 10**9, *others):
            with pytest.raises(ActionError) as error:
                mapper.index_to_move(index, game)
            assert f"action {index} of {size}" in str(error.value)
            assert game.sfen in str(error.value)


@pytest.mark.parametrize("code", [0, -1, 88 << 7, 1 << 15, 1 << 16])
def test_a_code_of_no_move_has_no_index(code: int) -> None:
    for size in SIZES:
        with pytest.raises(IllegalMoveError, match=f"no move has the code {code}"):
            PolicyOutputMapper(size).move_to_index(Move(code), Color.BLACK)


def test_mappings_are_chosen_by_name_or_number() -> None:
    assert [action_count(name) for name in ("2187", 2187, "13527", 13527)] == [2187, 2187, 13527, 13527]
    assert PolicyOutputMapper().num_actions == FULL_ACTIONS
    for wrong in ("", "2186", 0, "abc", None):
        with pytest.raises(ValueError, match="actions must be '2187' or '13527'"):
            PolicyOutputMapper(wrong)  # type: ignore[arg-type]


def test_text_may_stand_for_a_move() -> None:
    for size in SIZES:
        mapper = PolicyOutputMapper(size)
        assert mapper.move_to_index("7g7f", Color.BLACK) == mapper.move_to_index("3c3d", Color.WHITE)
