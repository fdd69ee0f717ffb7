"""Two real ranks of a test program, and what they leave behind."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

from keisei.record.run_lock import waiting_lock

TESTS = Path(__file__).resolve().parent
TIMEOUT_SECONDS = 120


class TwoRanks(NamedTuple):
    """What each rank of a program wrote, and the folder that it had."""

    outcomes: list[dict[str, Any]]
    folder: Path


def two_ranks(program: Path, temporary: pytest.TempPathFactory) -> TwoRanks:
    """Runs ``program RANK FOLDER`` twice, side by side, once for all processes of the tests.

    Each rank writes to FOLDER/RANK.pt.
    """
    shared = temporary.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder = shared / program.stem
    with waiting_lock(shared / f"{program.stem}.lock", TIMEOUT_SECONDS):
        if not folder.exists():
            folder.mkdir()
            _run_two(program, folder)
    written = [folder / f"{rank}.pt" for rank in range(2)]
    return TwoRanks([torch.load(file, weights_only=True) for file in written], folder)


def _run_two(program: Path, folder: Path) -> None:
    path = os.pathsep.join(map(str, (TESTS, TESTS / "core")))
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    processes = [
        subprocess.Popen(
            [sys.executable, program, str(rank), folder], env=environment, text=True, stderr=subprocess.PIPE
        )
        for rank in range(2)
    ]
    try:
        errors = [process.communicate(timeout=TIMEOUT_SECONDS)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert all((folder / f"{rank}.pt").exists() for rank in range(2)), "\n".join(errors)
