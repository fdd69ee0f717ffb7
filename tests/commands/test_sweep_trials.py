"""Trials: what is measured, and when one is cut short."""

from pathlib import Path

import optuna
import pytest
from optuna.trial import TrialState
from process_watch import is_gone
from recorded_runs import match_result
from tiny_runs import new_run

from keisei.commands.child_process import ChildProcess
from keisei.commands.sweep_plan import Range, SweepPlan
from keisei.commands.sweep_trials import Measurement, Sweep, newest_measurement
from keisei.record.journal import Journal, PlayerRating
from keisei.record.journal_reader import JournalReader

SEARCH = {"training.gamma": Range(low=0.9, high=1.0)}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run that was measured twice, and rated once."""
    run = new_run(tmp_path)
    with Journal(run.journal_path) as journal:
        for update, strength in ((5, 0.2), (10, 0.4)):
            journal.add_evaluation(update, match_result("random", 0.9))
            journal.add_evaluation(update, match_result("greedy", strength))
        journal.add_rating(10, PlayerRating("policy:run@10", 120.0, 80.0, 160.0, 40))
    return run.path


@pytest.mark.parametrize(
    ("objective", "opponent", "value"),
    [("score", None, 0.4), ("score", "random", 0.9), ("score_low", None, 0.304), ("rating_low", None, 80.0)],
)
def test_the_newest_measurement_counts(run: Path, objective: str, opponent: str | None, value: float) -> None:
    plan = SweepPlan(search=SEARCH, objective=objective, opponent=opponent)  # type: ignore[arg-type]
    with JournalReader(run / "journal.sqlite") as journal:
        assert newest_measurement(journal, plan) == Measurement(10, pytest.approx(value, abs=1e-3))


def test_a_run_without_a_measurement_has_none(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    Journal(run.journal_path).close()
    with JournalReader(run.journal_path) as journal:
        assert newest_measurement(journal, SweepPlan(search=SEARCH)) is None
        assert newest_measurement(journal, SweepPlan(search=SEARCH, objective="rating_low")) is None


def test_a_trial_that_is_worse_than_the_others_is_cut_short(tmp_path: Path, run: Path) -> None:
    plan = SweepPlan(search=SEARCH, objective="score")
    sweep = Sweep(plan, tmp_path, pytest.fail, lambda: False)
    for _ in range(6):
        earlier = sweep.study.ask(plan.distributions())
        earlier.report(0.8, 10)
        sweep.study.tell(earlier, 0.8)
    trial = sweep.study.ask(plan.distributions())
    with ChildProcess(tmp_path / "log", "perft", 9) as process:
        assert sweep._accompany(trial, process, run)
        assert is_gone(process.pid)


def test_a_study_goes_on_with_other_values_than_it_began_with(tmp_path: Path) -> None:
    plan = SweepPlan(search=SEARCH)
    values = []
    for _ in range(2):
        study = Sweep(plan, tmp_path, pytest.fail, lambda: False).study
        trial = study.ask(plan.distributions())
        values.append(trial.params["training.gamma"])
        study.tell(trial, state=TrialState.FAIL)
    assert values[0] != values[1]
    assert len(optuna.load_study(study_name="sweep", storage=study._storage).trials) == 2
