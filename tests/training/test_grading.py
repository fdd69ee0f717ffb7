"""Measuring a network against opponents that never change."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_runs import tiny_config

from keisei.config_schema import AppConfig
from keisei.core.model_factory import model_factory
from keisei.core.networks import ActorCritic
from keisei.errors import ConfigError
from keisei.evaluation.openings import OPENING_PLIES
from keisei.evaluation.registry import Conditions, Registry
from keisei.evaluation.scores import Score
from keisei.training.grading import Grade, grade

CPU = torch.device("cpu")


@pytest.fixture
def measure(tmp_path: Path) -> Callable[..., Grade]:
    """`grade` on the CPU, with a registry of its own."""

    def measured(config: AppConfig, measured_network: ActorCritic, **options: Any) -> Grade:
        return grade(
            config, measured_network, CPU, name="policy:me", registry=tmp_path / "registry.json", **options
        )

    return measured


def graded(games: int = 6, opponents: tuple[str, ...] = ("random", "greedy")) -> AppConfig:
    return tiny_config(1, evaluation__opponents=list(opponents), evaluation__games=games, env__max_plies=60)


def network(seed: int = 0) -> ActorCritic:
    torch.manual_seed(seed)
    return model_factory(tiny_config(1).model, 2187)


def test_every_opponent_is_met_in_the_configured_number_of_games(measure: Callable[..., Grade]) -> None:
    scores = measure(graded(), network()).scores
    assert list(scores) == ["random", "greedy"]
    assert [score.games for score in scores.values()] == [6, 6]


def test_the_same_network_gets_the_same_score_and_rating(measure: Callable[..., Grade]) -> None:
    assert measure(graded(), network()) == measure(graded(), network())


def test_measuring_leaves_the_network_and_the_random_state_alone(measure: Callable[..., Grade]) -> None:
    measured = network()
    before = {name: tensor.clone() for name, tensor in measured.state_dict().items()}
    random_state = torch.get_rng_state()
    measure(graded(4), measured)
    assert torch.equal(random_state, torch.get_rng_state())
    assert all(torch.equal(tensor, before[name]) for name, tensor in measured.state_dict().items())


def test_progress_is_told_by_opponent(measure: Callable[..., Grade]) -> None:
    told: list[tuple[str, Score, int]] = []
    found = measure(graded(), network(), on_game=lambda *progress: told.append(progress))
    assert ("random", found.scores["random"], 6) in told
    assert told[-1] == ("greedy", found.scores["greedy"], 6)


def test_a_stopped_measurement_leaves_out_what_was_not_finished(measure: Callable[..., Grade]) -> None:
    finished: list[str] = []

    def note(name: str, score: Score, total: int) -> None:
        if score.games == total:
            finished.append(name)

    stopped = measure(graded(), network(), on_game=note, should_stop=lambda: bool(finished))
    assert list(stopped.scores) == finished == ["random"]
    assert stopped.rating is None
    assert measure(graded(), network(), should_stop=lambda: True) == Grade({})


def test_a_cap_below_the_opening_is_a_row_of_draws_and_no_crash(measure: Callable[..., Grade]) -> None:
    config = tiny_config(1, evaluation__opponents=["random"], evaluation__games=2, env__max_plies=2)
    assert measure(config, network()).scores["random"].draws == 2


def test_an_unknown_opponent_is_refused() -> None:
    with pytest.raises(ConfigError, match="nobody"):
        graded(opponents=("nobody",))


def test_the_rating_stands_on_the_scale_of_the_opponents(
    measure: Callable[..., Grade], tmp_path: Path
) -> None:
    config = graded(40, opponents=("greedy", "random"))
    grade_of_network = measure(config, network())
    rating = grade_of_network.rating
    assert rating is not None
    assert (rating.name, rating.games) == ("policy:me", 80)
    assert rating.low <= rating.elo <= rating.high
    book = Registry(tmp_path / "registry.json", Conditions(config.env.max_plies, OPENING_PLIES))
    assert list(book.results) == [("greedy", "random")], "only what never changes is kept"
    assert book.pairs_of("greedy", "random") == 20
    measure(config, network())
    assert Registry(book.path, book.conditions).pairs_of("greedy", "random") == 20, "and is played once"


def test_a_registry_of_other_conditions_costs_the_rating_not_the_scores(
    measure: Callable[..., Grade], tmp_path: Path
) -> None:
    Registry(tmp_path / "registry.json", Conditions(512, OPENING_PLIES)).add(
        "greedy", "random", [0, 0, 0, 0, 1]
    )
    found = measure(graded(), network())
    assert set(found.scores) == {"random", "greedy"}
    assert found.rating is None
    assert "cannot be compared" in found.problem
