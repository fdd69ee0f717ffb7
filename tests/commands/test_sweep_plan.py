"""Plans of sweeps: what they may say, and what is wrong with the others."""

from pathlib import Path

import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from keisei.commands.sweep_plan import SweepPlan, as_text
from keisei.errors import ConfigError

PLAN = """
settings:
  training.total_plies: 100_000
search:
  training.learning_rate: {low: 1e-4, high: 1e-2, log: true}
  training.epochs: {low: 1, high: 4}
  training.gamma: {low: 0.9, high: 1.0, step: 0.05}
  model.architecture: {choices: [cnn, resnet]}
  training.flip: {choices: [true, false]}
"""


def read(folder: Path, text: str) -> SweepPlan:
    path = folder / "plan.yaml"
    path.write_text(text)
    return SweepPlan.read(path)


def test_a_plan_becomes_a_search_space(tmp_path: Path) -> None:
    plan = read(tmp_path, PLAN)
    assert plan.distributions() == {
        "training.learning_rate": FloatDistribution(1e-4, 1e-2, log=True),
        "training.epochs": IntDistribution(1, 4),
        "training.gamma": FloatDistribution(0.9, 1.0, step=0.05),
        "model.architecture": CategoricalDistribution(("cnn", "resnet")),
        "training.flip": CategoricalDistribution((True, False)),
    }
    assert plan.judged_against() == "greedy"
    config = plan.app_config({"training.epochs": 3, "training.flip": False})
    assert (config.training.total_plies, config.training.epochs, config.training.flip) == (100_000, 3, False)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["the plan"]),
        ("[1, 2]", ["the plan"]),
        ("search: {", ["no valid YAML"]),
        ("search: {}", ["search", "at least 1"]),
        ("trials: 3", ["search", "required"]),
        ("search: {training.sede: {low: 1, high: 2}}", ["'training.sede'", "is unknown"]),
        ("search: {record.name: {choices: [a, b]}}", ["'record.name'", "the sweep's own"]),
        ("search: {training.gamma: {low: 1, high: 0.5}}", ["low must be below high"]),
        ("search: {training.gamma: {low: 0.5, high: 7}}", ["training.gamma", "7.0"]),
        ("search: {training.epochs: {low: 1.5, high: 3}}", ["training.epochs", "1.5"]),
        ("search: {training.gamma: {low: 0, high: 1, log: true}}", ["log: true needs low above 0"]),
        ("search: {training.gamma: {choices: [0.9]}}", ["choices"]),
        ("search: {model.architecture: {choices: ['no name', cnn]}}", ["model.architecture", "no name"]),
        ("search: {training.gamma: {low: 0, high: 1}}\ntrials: 0", ["trials", "0"]),
        ("search: {training.gamma: {low: 0, high: 1}}\nopponent: nobody", ["'nobody'", "greedy"]),
        ("search: {training.gamma: {low: 0, high: 1}}\ntypo: 1", ["typo"]),
        (
            "search: {training.gamma: {low: 0, high: 1}}\nsettings: {evaluation.opponents: []}",
            ["evaluation.opponents are []"],
        ),
    ],
)
def test_a_plan_that_cannot_be_is_refused_in_words(tmp_path: Path, text: str, words: list[str]) -> None:
    with pytest.raises(ConfigError) as refused:
        read(tmp_path, text)
    for word in words:
        assert word in str(refused.value)


def test_a_plan_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"absent\.yaml.*No such file"):
        SweepPlan.read(tmp_path / "absent.yaml")


def test_an_end_that_fits_only_some_trials_is_allowed(tmp_path: Path) -> None:
    """8,192 rows a minibatch need more games than the default; another searched setting may bring them."""
    plan = read(
        tmp_path,
        "search: {training.minibatch_size: {choices: [256, 8192]}, env.num_games: {choices: [128, 512]}}",
    )
    with pytest.raises(ConfigError, match="minibatch_size 8192 exceeds"):
        plan.app_config({"training.minibatch_size": 8192})


@pytest.mark.parametrize(
    ("value", "text"), [(True, "true"), (None, "null"), (0.5, "0.5"), (["a", 1], "[a, 1]"), ("cnn", "cnn")]
)
def test_values_as_on_the_command_line(value: object, text: str) -> None:
    assert as_text(value) == text
