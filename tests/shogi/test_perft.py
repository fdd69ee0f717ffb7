"""Perft: the number of legal move sequences, against published and independently counted numbers."""

from pathlib import Path

import pytest

from keisei.shogi import ShogiGame

START_COUNTS = (1, 30, 900, 25_470, 719_731, 19_861_490, 547_581_517)
MOST_MOVES = "R8/2K1S1SSk/4B4/9/9/9/9/9/1L1L1L3 b RBGSNLP3g3n17p 1"
MATED = "4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1"

COUNTED = Path(__file__).parents[1] / "data" / "perft.txt"


def counted_positions() -> list[tuple[str, dict[int, int]]]:
    """Each line of the data file: SFEN and nodes by depth."""
    positions = []
    for line in COUNTED.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        sfen, *counts = (part.strip() for part in line.split(";"))
        positions.append((sfen, {int(depth[1:]): int(nodes) for depth, nodes in map(str.split, counts)}))
    return positions


@pytest.mark.parametrize("depth", range(6))
def test_the_published_numbers_of_the_start_position(depth: int) -> None:
    assert ShogiGame().perft(depth) == START_COUNTS[depth]


@pytest.mark.soak
def test_the_published_number_of_the_start_position_at_depth_six() -> None:
    assert ShogiGame().perft(6) == START_COUNTS[6]


def test_the_position_with_the_most_moves() -> None:
    assert len(ShogiGame(MOST_MOVES).legal_moves()) == ShogiGame(MOST_MOVES).perft(1) == 593


@pytest.mark.parametrize(("sfen", "counts"), counted_positions())
def test_numbers_on_which_independent_engines_agree(sfen: str, counts: dict[int, int]) -> None:
    game = ShogiGame(sfen)
    assert {depth: game.perft(depth) for depth in counts} == counts


def test_the_data_file_holds_at_least_sixty_positions_besides_the_start() -> None:
    assert len({sfen for sfen, _ in counted_positions()}) > 60


@pytest.mark.parametrize("sfen", [None, MOST_MOVES, *(sfen for sfen, _ in counted_positions()[-8:])])
def test_divide_adds_up_and_names_every_move(sfen: str | None) -> None:
    game = ShogiGame(sfen)
    parts = game.perft_divide(2)
    assert set(parts) == {move.usi for move in game.legal_moves()}
    assert sum(parts.values()) == game.perft(2)
    for usi, nodes in parts.items():
        child = game.copy()
        child.make_move(usi)
        assert child.perft(1) == nodes


def test_counting_leaves_the_game_alone() -> None:
    game = ShogiGame()
    game.make_move("7g7f")
    before = (game.sfen, hash(game), game.moves)
    game.perft(3)
    game.perft_divide(2)
    assert (game.sfen, hash(game), game.moves) == before


def test_a_mated_position_has_no_sequences() -> None:
    game = ShogiGame(MATED)
    assert [game.perft(depth) for depth in range(3)] == [1, 0, 0]
    assert game.perft_divide(1) == {}


def test_impossible_depths_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 0, not -1"):
        ShogiGame().perft(-1)
    with pytest.raises(ValueError, match="at least 1, not 0"):
        ShogiGame().perft_divide(0)
