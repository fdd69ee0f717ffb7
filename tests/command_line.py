"""The command line: where it is, and how to call it without the cost of a process."""

import logging
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pytest

from keisei.cli import main

KEISEI = Path(sys.executable).with_name("keisei")
#: One thread a process: the tests run beside each other.
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200"}


def start_process(folder: Path, *command: object, **environ: str) -> "subprocess.Popen[str]":
    """A real process in ``folder``, whose output can be read."""
    return subprocess.Popen(
        [str(word) for word in command],
        cwd=folder,
        env={**ENVIRONMENT, **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@dataclass(frozen=True)
class Called:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    def assert_refused(self, code: int, *words: str) -> None:
        """An error is one paragraph on stderr that holds ``words``, and no traceback."""
        assert self.code == code, self.out + self.err
        assert "Traceback" not in self.out + self.err
        assert self.err.startswith("error: ")
        assert "\n\n" not in self.err.strip()
        for word in words:
            assert word in self.err


@contextmanager
def _logging_as_it_was() -> Iterator[None]:
    """The command line sets up logging for a process of its own."""
    handlers, level = logging.root.handlers[:], logging.root.level
    try:
        yield
    finally:
        for handler in logging.root.handlers:
            if handler not in handlers:
                handler.close()
        logging.root.handlers[:] = handlers
        logging.root.setLevel(level)


def call_keisei(capsys: pytest.CaptureFixture[str], *arguments: object) -> Called:
    """Runs ``keisei`` with these arguments in this process: same output, same exit code."""
    capsys.readouterr()
    code = 0
    arguments_of_process = patch.object(sys, "argv", ["keisei", *map(str, arguments)])
    with _logging_as_it_was(), arguments_of_process, warnings.catch_warnings():
        # cyclopts suspects a test that forgot to pass arguments.
        warnings.filterwarnings("ignore", message="Cyclopts application invoked without tokens")
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
    output = capsys.readouterr()
    return Called(code, output.out, output.err)
