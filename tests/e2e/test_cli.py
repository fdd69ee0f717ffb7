"""The front door as a process: speed of opening, exit codes, closed pipes, terminals that know no kanji."""

import resource
import signal
import subprocess
import sys

import pytest
from command_line import ENVIRONMENT, KEISEI, call_keisei
from tiny_runs import TINY

HELP_CPU_SECONDS = 0.3
DOCTOR_SECONDS = 5
# Left out of the door, so that it opens quickly.
HEAVY = ("torch", "numpy", "pydantic", "yaml", "keisei.shogi", "keisei.config_schema")


def cpu_seconds(*command: object) -> float:
    """What a command costs in processor time, which a busy machine stretches less than the time on the wall."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*map(str, command)], env=ENVIRONMENT, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_help_opens_quickly() -> None:
    bare = min(cpu_seconds(sys.executable, "-c", "pass") for _ in range(5))
    helped = min(cpu_seconds(KEISEI, "--help") for _ in range(5))
    assert helped - bare <= HELP_CPU_SECONDS


def test_help_imports_nothing_heavy() -> None:
    program = f"import sys, keisei.cli; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_help_names_every_command(keisei) -> None:
    done = keisei("--help")
    assert done.returncode == 0
    for command in (
        "bench",
        "config",
        "doctor",
        "inspect",
        "perft",
        "runs",
        "show",
        "train",
        "verify-engine",
    ):
        assert f" {command} " in done.stdout
    assert keisei("--version").stdout.strip()


@pytest.mark.parametrize(
    "arguments", [["no-such-command"], ["perft"], ["perft", "2", "--no-such-option"], ["doctor", "extra"]]
)
def test_usage_errors_are_exit_code_two(keisei, arguments: list[str]) -> None:
    done = keisei(*arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stdout + done.stderr


def test_perft_ends_with_the_number_of_nodes(keisei) -> None:
    done = keisei("perft", 3, "--divide")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "nodes 25470"


def test_doctor_takes_less_than_five_seconds() -> None:
    assert cpu_seconds(KEISEI, "doctor") < DOCTOR_SECONDS


def test_a_terminal_that_knows_no_kanji_gets_question_marks(keisei) -> None:
    done = keisei("show", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert "30 legal moves" in done.stdout
    assert "?" in done.stdout


def test_a_reader_that_goes_away_is_no_traceback() -> None:
    producer = subprocess.Popen(
        [KEISEI, "config"], env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert producer.stdout is not None
    producer.stdout.close()
    assert producer.stderr is not None
    errors = producer.stderr.read()
    producer.wait()
    producer.stderr.close()
    assert "Traceback" not in errors


def test_ctrl_c_in_a_command_is_exit_code_130_and_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    """The signal comes after a while of computing, wherever the command is then.

    It comes again after as long, as a user's would: one that falls into a callback of the interpreter, such as that
    of a weak reference, is printed and forgotten there.
    """
    previous = signal.signal(signal.SIGVTALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.2, 0.2)
    try:
        called = call_keisei(capsys, "verify-engine", "--positions", 10**8)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, previous)
    assert called.code == 130
    assert "Traceback" not in called.out + called.err


def test_every_setting_of_the_tests_is_a_setting() -> None:
    """The tiny runs of this folder speak of real settings: a renamed one is found here, not as a timeout."""
    from keisei.config_loader import SETTINGS

    assert set(TINY) <= set(SETTINGS)
