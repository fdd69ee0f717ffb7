"""What stays on the device of a rollout's positions: columns are views, and a later player corrects its games alone."""

import torch

from keisei.core.played_positions import ANSWERS, PlayedPositions

CPU = torch.device("cpu")
PLIES, GAMES, ACTIONS = 3, 5, 17


def test_bits_take_as_many_bytes_as_they_need() -> None:
    played = PlayedPositions.allocate(PLIES, GAMES, ACTIONS, CPU)
    assert played.legal.shape == (PLIES, GAMES, 3)


def test_columns_write_through_and_answers_are_corrected_in_the_named_games_alone() -> None:
    whole = PlayedPositions.allocate(PLIES, GAMES, ACTIONS, CPU)
    part = whole.columns(slice(1, 5))
    answer = torch.arange(1, 1 + ANSWERS * 4, dtype=torch.int32).view(ANSWERS, 4)
    part.write(1, torch.full((4, 96), 7), torch.full((4, 3), 9), answer)
    corrected = -torch.ones((ANSWERS, 2), dtype=torch.int32)
    part.correct(1, torch.tensor([3, 0]), corrected)
    expected = torch.zeros((PLIES, ANSWERS, GAMES), dtype=torch.int32)
    expected[1, :, 1:] = answer
    expected[1, :, [4, 1]] = corrected
    assert torch.equal(whole.answer, expected)
    assert (whole.record[1, 1:] == 7).all()
    assert (whole.legal[1, 1:] == 9).all()
    assert int((whole.record != 0).sum()) == 4 * 96
    assert int((whole.legal != 0).sum()) == 4 * 3
