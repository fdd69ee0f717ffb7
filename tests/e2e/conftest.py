"""Real processes, through the entry point that users call."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from command_line import ENVIRONMENT, KEISEI, start_process

# As in the processes that are started here, so that their results can be compared bit by bit.
torch.set_num_threads(1)

TIMEOUT_SECONDS = 120

Keisei = Callable[..., "subprocess.CompletedProcess[str]"]
StartKeisei = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def keisei(tmp_path: Path) -> Keisei:
    """Runs the command in an empty folder to its end."""

    def run(*arguments: object, **environ: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [KEISEI, *map(str, arguments)],
            cwd=tmp_path,
            env={**ENVIRONMENT, **environ},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )

    return run


@pytest.fixture
def start_keisei(tmp_path: Path) -> Iterator[StartKeisei]:
    """Starts the command in an empty folder; none outlives its test."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: object) -> "subprocess.Popen[str]":
        process = start_process(tmp_path, KEISEI, *arguments)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
