"""The rule that CI loses no test."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).with_name("conftest.py")

SKIPS_ITSELF = """
import pytest
def test_one():
    pytest.skip("install fairy-stockfish")
"""
SKIPS_ITS_MODULE = """
import pytest
pytest.importorskip("no_such_module")
def test_one(): pass
"""
IS_OPTIONAL = """
import pytest
@pytest.mark.optional
def test_one():
    pytest.skip("needs a GPU")
"""
IS_EXPECTED_TO_FAIL = """
import pytest
@pytest.mark.xfail
def test_one():
    assert False
"""
PASSES = "def test_one(): pass"


def run_pytest(folder: Path, test: str, ci: str | None) -> subprocess.CompletedProcess[str]:
    folder.joinpath("conftest.py").write_text(CONFTEST.read_text(encoding="utf-8"), encoding="utf-8")
    folder.joinpath("test_sample.py").write_text(test, encoding="utf-8")
    folder.joinpath("pytest.ini").write_text("[pytest]\nmarkers = optional\n", encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CI", "PYTEST"))}
    if ci is not None:
        environment["CI"] = ci
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"]
    return subprocess.run(command, cwd=folder, env=environment, text=True, capture_output=True, check=False)


@pytest.mark.parametrize("test", [SKIPS_ITSELF, SKIPS_ITS_MODULE], ids=["test", "module"])
def test_a_skip_is_a_failure_in_ci_and_says_what_is_missing(tmp_path: Path, test: str) -> None:
    finished = run_pytest(tmp_path, test, ci="true")
    assert finished.returncode != 0
    assert "was skipped, and in CI (CI='true') nothing may be" in finished.stdout
    assert "fairy-stockfish" in finished.stdout or "no_such_module" in finished.stdout


@pytest.mark.parametrize("ci", [None, "", "false"])
def test_outside_ci_a_skip_is_a_skip(tmp_path: Path, ci: str | None) -> None:
    finished = run_pytest(tmp_path, SKIPS_ITSELF, ci)
    assert finished.returncode == 0
    assert "1 skipped" in finished.stdout


@pytest.mark.parametrize(
    ("test", "summary"),
    [(IS_OPTIONAL, "1 skipped"), (IS_EXPECTED_TO_FAIL, "1 xfailed"), (PASSES, "1 passed")],
)
def test_everything_else_stays_as_it_is_in_ci(tmp_path: Path, test: str, summary: str) -> None:
    finished = run_pytest(tmp_path, test, ci="true")
    assert finished.returncode == 0
    assert summary in finished.stdout
