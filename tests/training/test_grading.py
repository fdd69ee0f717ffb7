"""Measuring a network against opponents that never change."""

import pytest
import torch
from tiny_runs import tiny_config

from keisei.config_schema import AppConfig
from keisei.core.model_factory import model_factory
from keisei.core.networks import ActorCritic
from keisei.errors import ConfigError
from keisei.training.grading import grade

CPU = torch.device("cpu")


def graded(games: int = 6, opponents: tuple[str, ...] = ("random", "greedy")) -> AppConfig:
    return tiny_config(1, evaluation__opponents=list(opponents), evaluation__games=games, env__max_plies=60)


def network(seed: int = 0) -> ActorCritic:
    torch.manual_seed(seed)
    return model_factory(tiny_config(1).model, 2187)


def test_every_opponent_is_met_in_the_configured_number_of_games() -> None:
    scores = grade(graded(), network(), CPU)
    assert list(scores) == ["random", "greedy"]
    assert [score.games for score in scores.values()] == [6, 6]


def test_the_same_network_gets_the_same_score() -> None:
    assert grade(graded(), network(), CPU) == grade(graded(), network(), CPU)


def test_measuring_leaves_the_network_and_the_random_state_alone() -> None:
    measured = network()
    before = {name: tensor.clone() for name, tensor in measured.state_dict().items()}
    random_state = torch.get_rng_state()
    grade(graded(4), measured, CPU)
    assert torch.equal(random_state, torch.get_rng_state())
    assert all(torch.equal(tensor, before[name]) for name, tensor in measured.state_dict().items())


def test_progress_is_told_by_opponent() -> None:
    told: list[tuple[str, int, int]] = []
    grade(graded(), network(), CPU, on_game=lambda *progress: told.append(progress))
    assert ("random", 6, 6) in told
    assert told[-1] == ("greedy", 6, 6)


def test_a_stopped_measurement_leaves_out_what_was_not_finished() -> None:
    finished: list[str] = []

    def note(name: str, done: int, total: int) -> None:
        if done == total:
            finished.append(name)

    scores = grade(graded(), network(), CPU, on_game=note, should_stop=lambda: bool(finished))
    assert list(scores) == finished == ["random"]
    assert grade(graded(), network(), CPU, should_stop=lambda: True) == {}


def test_a_cap_below_the_opening_is_a_row_of_draws_and_no_crash() -> None:
    config = tiny_config(1, evaluation__opponents=["random"], evaluation__games=2, env__max_plies=2)
    assert grade(config, network(), CPU)["random"].draws == 2


def test_an_unknown_opponent_is_refused() -> None:
    with pytest.raises(ConfigError, match="nobody"):
        graded(opponents=("nobody",))
