import pytest
from bad_contestants import Dies, Even, Raises, Stuck

from keisei.bench.contestant_process import ContestantProcess
from keisei.bench.measurement import Budget, Measurement, Workload
from keisei.errors import RivalError

PATIENCE_SECONDS = 60.0


def test_one_process_measures_as_often_as_it_is_asked() -> None:
    with ContestantProcess(Even()) as process:
        for _ in range(2):
            assert process.measure(Workload.PERFT, Budget(), PATIENCE_SECONDS) == Measurement(2_000, 2.0)


def test_a_contestant_that_hangs_is_stopped() -> None:
    with ContestantProcess(Stuck()) as process, pytest.raises(RivalError, match=r"no result within 0\.2 s"):
        process.measure(Workload.PERFT, Budget(), timeout_seconds=0.2)


def test_a_contestant_that_ends_its_interpreter_is_reported() -> None:
    with ContestantProcess(Dies()) as process, pytest.raises(RivalError, match="its process ended"):
        process.measure(Workload.PERFT, Budget(), PATIENCE_SECONDS)


def test_a_contestant_that_fails_says_why_and_lives_on() -> None:
    with ContestantProcess(Raises()) as process:
        for _ in range(2):
            with pytest.raises(RivalError, match="ArithmeticError: no nodes today"):
                process.measure(Workload.PERFT, Budget(), PATIENCE_SECONDS)
