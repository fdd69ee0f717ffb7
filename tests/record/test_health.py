import pytest

from keisei.record.health import collapse_signs, judge

GOOD = {
    "skipped_steps": 0.0,
    "first_ratio_deviation": 0.0,
    "entropy": 2.0,
    "approx_kl": 0.01,
    "truncated_share": 0.1,
    "explained_variance": 0.4,
}


def test_good_figures_are_good() -> None:
    assert judge(GOOD).level == "good"
    assert judge({}).level == "good"


@pytest.mark.parametrize(
    ("metric", "value", "level", "advice"),
    [
        ("skipped_steps", 1.0, "bad", "training.learning_rate"),
        ("first_ratio_deviation", 0.01, "bad", "training.precision"),
        ("entropy", 0.05, "warning", "training.entropy_weight"),
        ("approx_kl", 0.2, "warning", "training.epochs"),
        ("truncated_share", 0.9, "warning", "env.max_plies"),
        ("explained_variance", -1.0, "warning", "training.learning_rate"),
    ],
)
def test_each_bad_figure_is_named_with_what_to_do(metric: str, value: float, level: str, advice: str) -> None:
    health = judge({**GOOD, metric: value})
    assert health.level == level
    assert advice in health.words


def test_the_worst_is_told_first() -> None:
    assert judge({**GOOD, "entropy": 0.1, "skipped_steps": 2.0}).level == "bad"


def test_signs_of_a_collapse_are_told_by_figure_and_only_of_figures_that_are_there() -> None:
    assert collapse_signs({"approx_kl": 9.0}) == {}
    signs = collapse_signs({"entropy": 0.0, "explained_variance": 0.9, "truncated_share": 1.0})
    assert signs["explained_variance"] == ""
    assert "hardly explores" in signs["entropy"]
    assert "cut off" in signs["truncated_share"]
