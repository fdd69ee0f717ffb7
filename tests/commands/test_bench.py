"""`keisei bench engine`: bad input; what it measures is tested with keisei.bench."""

import pytest
from command_line import call_keisei


@pytest.mark.parametrize("repetitions", ["0", "-1", "x"])
def test_repetitions_that_cannot_be_are_exit_code_two(
    capsys: pytest.CaptureFixture[str], repetitions: str
) -> None:
    called = call_keisei(capsys, "bench", "engine", f"--repetitions={repetitions}")
    assert called.code == 2
    assert "Traceback" not in called.out + called.err


def test_an_unknown_benchmark_is_exit_code_two(capsys: pytest.CaptureFixture[str]) -> None:
    called = call_keisei(capsys, "bench", "everything")
    assert called.code == 2
    assert "engine" in called.out + called.err
