"""Figures of the games that ended in a rollout."""

import pytest

from keisei.core.rollout import FinishedGame, RolloutSummary
from keisei.training.game_figures import game_figures


def test_without_an_ended_game_there_is_nothing_to_say() -> None:
    assert game_figures(RolloutSummary(plies=8)) == {}


def test_shares_are_of_the_games_that_ended() -> None:
    finished = [
        FinishedGame("black", "checkmate", 40),
        FinishedGame("white", "checkmate", 60),
        FinishedGame("black", "checkmate", 50, opponent="greedy", points=1.0),
        FinishedGame(None, "max_plies", 90, opponent="greedy", points=0.5),
    ]
    figures = game_figures(RolloutSummary(finished=finished))
    assert figures["games_finished"] == 4
    assert figures["game_plies"] == 60
    assert (figures["black_share"], figures["white_share"]) == (0.5, 0.25)
    assert figures["truncated_share"] == figures["ended_max_plies"] == 0.25
    assert figures["ended_checkmate"] == 0.75
    assert figures["score_greedy"] == pytest.approx(0.75)
    assert "score_" not in figures
