"""What several test folders share."""

import os
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator, Sequence
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Protocol

import hypothesis
import pytest

# A time limit for every example would fail on a busy machine, and under sanitizers.
hypothesis.settings.register_profile("keisei", deadline=None)
hypothesis.settings.load_profile("keisei")

REPOSITORY = Path(__file__).resolve().parents[1]

# A shell has what it runs in the background ignore Ctrl-C, and children inherit that: theirs would never stop.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _nothing_may_be_skipped() -> bool:
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport, *, may_be_skipped: bool) -> None:
    """In CI a skipped test is a test that was lost: fail it, with what it asks for."""
    is_expected_failure = hasattr(report, "wasxfail")
    if not report.skipped or is_expected_failure or may_be_skipped or not _nothing_may_be_skipped():
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    report.outcome = "failed"
    report.longrepr = (
        f"{report.nodeid} was skipped, and in CI (CI={os.environ['CI']!r}) nothing may be: {reason}. "
        "Let .ci/run install what it needs, or mark the test `optional` if CI can never have it."
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _refuse_skip(report, may_be_skipped=item.get_closest_marker("optional") is not None)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _refuse_skip(report, may_be_skipped=False)
    return report


@pytest.fixture(scope="session", autouse=True)
def _resource_tracker() -> None:
    """Python's own helper process, a child and a descriptor: there from the start, so that tests can count theirs."""
    if sys.platform != "win32":
        resource_tracker.ensure_running()


class StartPython(Protocol):
    """Start ``python -c program arguments`` with text pipes; ``prefix`` is a command in front."""

    def __call__(
        self, program: str, *arguments: object, prefix: Sequence[str] = ()
    ) -> "subprocess.Popen[str]": ...


@pytest.fixture
def start_python() -> Iterator[StartPython]:
    """Real processes for tests that kill, lock or limit them; none outlives its test."""
    started: list[subprocess.Popen[str]] = []

    def start(program: str, *arguments: object, prefix: Sequence[str] = ()) -> "subprocess.Popen[str]":
        command = [*prefix, sys.executable, "-c", program, *map(str, arguments)]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, text=True, cwd=REPOSITORY, stdin=pipe, stdout=pipe, stderr=pipe)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
