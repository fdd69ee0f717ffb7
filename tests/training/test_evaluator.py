"""The trainer's side of evaluations: results with their tags, processes that die, and nothing that waits."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest
from stand_in_evaluator import HALF_TIME, FixedGrade, StandInEvaluator

from keisei.training.evaluator import Evaluator, Outcome
from keisei.training.evaluator_process import (
    EvaluationDone,
    EvaluationFailed,
    EvaluationJob,
    EvaluationProgress,
)
from keisei.training.parallel.worker_supervision import RestartBudget

PATIENCE_SECONDS = 60.0


@pytest.fixture
def deaths(tmp_path: Path) -> Path:
    path = tmp_path / "deaths"
    path.write_bytes(b"")
    return path


@pytest.fixture
def make(deaths: Path) -> Iterator[Callable[..., Evaluator]]:
    made: list[Evaluator] = []

    def evaluator(last_words: str = "", restarts: int = 5, whistle: Path | None = None) -> Evaluator:
        launch = partial(StandInEvaluator, deaths=deaths, last_words=last_words, whistle=whistle)
        made.append(Evaluator(launch, RestartBudget(restarts, window_seconds=3600)))
        return made[-1]

    yield evaluator
    for each in made:
        each.close()


def job(update: int) -> EvaluationJob:
    return EvaluationJob(update, 64 * update, Path(f"update-{update}"))


def done(update: int) -> EvaluationDone:
    return EvaluationDone(job(update), FixedGrade(update))  # type: ignore[arg-type]


def outcomes(evaluator: Evaluator) -> list[Outcome]:
    """Everything until nothing is left to do."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    found = evaluator.poll()
    while evaluator.jobs and time.monotonic() < deadline:
        evaluator.wait(0.05)
        found += evaluator.poll()
    return found


def test_results_come_back_with_the_update_and_plies_they_belong_to(make: Callable[..., Evaluator]) -> None:
    evaluator = make()
    assert evaluator.pid is None, "nothing is started before there is something to measure"
    evaluator.request(job(3))
    assert outcomes(evaluator) == [done(3)]
    first = evaluator.pid
    evaluator.request(job(5))
    assert outcomes(evaluator) == [done(5)]
    assert evaluator.pid == first, "one process measures them all"


def test_progress_of_the_match_in_play_is_known_until_it_is_over(
    make: Callable[..., Evaluator], tmp_path: Path
) -> None:
    whistle = tmp_path / "whistle"
    evaluator = make(whistle=whistle)
    assert evaluator.progress is None
    evaluator.request(job(3))
    deadline = time.monotonic() + PATIENCE_SECONDS
    while evaluator.progress is None and time.monotonic() < deadline:
        assert evaluator.poll() == []
        evaluator.wait(0.05)
    assert evaluator.progress == EvaluationProgress(job(3), *HALF_TIME)
    whistle.touch()
    assert outcomes(evaluator) == [done(3)]
    assert evaluator.progress is None


def test_a_newer_checkpoint_takes_the_place_of_one_that_waits(make: Callable[..., Evaluator]) -> None:
    evaluator = make()
    evaluator.request(job(1))
    assert evaluator.poll() == []
    evaluator.request(job(2))
    evaluator.request(job(3))
    assert [each.update for each in evaluator.jobs] == [1, 3]
    assert outcomes(evaluator) == [done(1), done(3)]


def test_an_evaluator_that_dies_is_named_and_replaced_and_measures_the_same_again(
    make: Callable[..., Evaluator], deaths: Path
) -> None:
    deaths.write_bytes(b"x")
    evaluator = make()
    evaluator.request(job(1))
    failed, measured = outcomes(evaluator)
    assert failed == EvaluationFailed(job(1), "the evaluator died of signal SIGKILL; it is tried again")
    assert measured == done(1)


def test_a_checkpoint_that_kills_twice_is_given_up_and_the_next_one_measured(
    make: Callable[..., Evaluator], deaths: Path
) -> None:
    deaths.write_bytes(b"xx")
    evaluator = make(last_words="MemoryError: none left")
    evaluator.request(job(1))
    reasons = [each.reason for each in outcomes(evaluator) if isinstance(each, EvaluationFailed)]
    assert reasons[1] == ("the evaluator died of signal SIGKILL: MemoryError: none left, 2 times in a row")
    evaluator.request(job(2))
    assert outcomes(evaluator) == [done(2)]


def test_too_many_deaths_end_the_evaluations_not_the_run(
    make: Callable[..., Evaluator], deaths: Path
) -> None:
    deaths.write_bytes(b"x" * 9)
    evaluator = make(restarts=1)
    for update in (1, 2):
        evaluator.request(job(update))
        last = outcomes(evaluator)[-1]
    assert evaluator.has_given_up
    assert isinstance(last, EvaluationFailed)
    assert "too often to be started again: training goes on without evaluations" in last.reason
    evaluator.request(job(3))
    assert (evaluator.jobs, evaluator.poll(), evaluator.pid) == ((), [], None)


def test_closing_ends_the_process_and_a_later_request_starts_another(make: Callable[..., Evaluator]) -> None:
    evaluator = make()
    evaluator.request(job(1))
    evaluator.poll()
    first = evaluator.pid
    assert first is not None
    evaluator.close()
    assert not psutil.pid_exists(first)
    assert evaluator.jobs == ()
    evaluator.request(job(2))
    assert outcomes(evaluator) == [done(2)]
    assert evaluator.pid != first


def test_an_evaluator_that_cannot_be_started_is_an_outcome_too() -> None:
    class Refused(StandInEvaluator):
        def start(self) -> None:
            raise BlockingIOError("no more processes")

    evaluator = Evaluator(partial(Refused, deaths=Path("nowhere")), RestartBudget(5, 3600))
    evaluator.request(job(1))
    reasons = [each.reason for each in outcomes(evaluator) if isinstance(each, EvaluationFailed)]
    assert reasons[0] == "the evaluator cannot be started (no more processes); it is tried again"
    assert len(reasons) == 2
