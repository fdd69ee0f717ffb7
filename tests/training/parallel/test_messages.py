"""Messages are small: rows travel in slots."""

import pickle

from keisei.core.rollout import FinishedGame, RolloutSummary
from keisei.core.rollout_rows import RolloutRows
from keisei.training.parallel.messages import Credit, SlotFilled


def test_19_a_filled_slot_is_one_message_whatever_the_number_of_its_rows() -> None:
    plies, games = 64, 128
    finished = [FinishedGame("black", "checkmate", 80, "frozen", 0.5, 12)] * games
    message = SlotFilled(3, 9, 17, RolloutSummary(plies=plies * games, finished=finished))
    assert len(pickle.dumps(message)) < 0.01 * RolloutRows.nbytes(plies, games)


def test_a_credit_takes_a_fraction_of_a_packet() -> None:
    assert len(pickle.dumps(Credit(1, 2))) < 200
