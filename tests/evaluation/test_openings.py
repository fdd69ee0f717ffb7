"""Openings: varied, legal, even, and the same for the same seed."""

from keisei.evaluation.openings import OPENING_PLIES, random_openings
from keisei.shogi import Color, ShogiGame


def test_openings_are_reached_by_legal_plies_from_the_standard_position() -> None:
    for sfen in random_openings(50, seed=1):
        game = ShogiGame(sfen)
        assert game.ply == OPENING_PLIES
        assert game.turn is Color.BLACK
        assert game.outcome is None
        assert game.legal_moves()


def test_the_seed_decides_and_openings_differ() -> None:
    assert random_openings(20, seed=3) == random_openings(20, seed=3)
    assert random_openings(20, seed=3) != random_openings(20, seed=4)
    assert len(set(random_openings(100, seed=3))) > 95


def test_a_longer_list_begins_with_the_shorter_one() -> None:
    assert random_openings(30, seed=5)[:10] == random_openings(10, seed=5)


def test_the_number_of_plies_can_be_chosen() -> None:
    assert random_openings(2, seed=1, plies=0) == [ShogiGame().sfen] * 2
    assert {ShogiGame(sfen).ply for sfen in random_openings(5, seed=1, plies=9)} == {9}
