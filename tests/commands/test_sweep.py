"""`keisei sweep`: what it refuses, and what it says about trials that cannot be."""

from pathlib import Path

import pytest
from command_line import call_keisei

Capture = pytest.CaptureFixture[str]

#: Every trial contradicts itself, so that none takes time.
IMPOSSIBLE = """
trials: 2
settings: {training.minibatch_size: 4096, env.num_games: 8}
search: {training.gamma: {low: 0.9, high: 1.0}}
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "gamma.yaml"
    path.write_text(IMPOSSIBLE)
    return path


@pytest.fixture(autouse=True)
def _wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def test_trials_that_cannot_be_are_listed_with_the_reason(
    capsys: Capture, plan: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "sweep"
    called = call_keisei(capsys, "sweep", plan, "--folder", folder)
    assert called.code == 0, called.err
    assert "trial 1: failed: training.minibatch_size 4096 exceeds the 256 rows" in called.out
    assert called.out.count("fail ") == 2
    assert "No trial has been completed yet." in called.out
    again = call_keisei(capsys, "sweep", plan, "--folder", folder)
    assert again.code == 0, again.err
    assert "trial 2" not in again.out
    more = call_keisei(capsys, "sweep", plan, "--folder", folder, "--trials", 9)
    more.assert_refused(1, "3 trials in a row failed", "minibatch_size")


def test_a_folder_of_another_plan_is_refused(capsys: Capture, plan: Path, tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    call_keisei(capsys, "sweep", plan, "--folder", folder)
    plan.write_text(IMPOSSIBLE.replace("0.9", "0.8").replace("trials: 2", "trials: 3"))
    called = call_keisei(capsys, "sweep", plan, "--folder", folder)
    called.assert_refused(1, "another plan (different: search)", "--folder")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["absent.yaml"], 2, "absent.yaml"),
        (["PLAN", "--trials", "0"], 2, "--trials"),
        (["PLAN", "--folder", "PLAN"], 1, "cannot write to the sweep's folder"),
    ],
)
def test_wrong_arguments_are_explained(
    capsys: Capture, plan: Path, arguments: list[str], code: int, words: str
) -> None:
    given = [str(plan) if argument == "PLAN" else argument for argument in arguments]
    call_keisei(capsys, "sweep", *given).assert_refused(code, words)


def test_a_missing_package_is_named(capsys: Capture, plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keisei.commands.sweep.find_spec", lambda name: None)
    call_keisei(capsys, "sweep", plan).assert_refused(1, "keisei[sweep]")
