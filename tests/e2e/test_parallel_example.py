"""The example of a training loop of one's own runs as it is printed."""

import subprocess
import sys
from pathlib import Path

from command_line import ENVIRONMENT

REPOSITORY = Path(__file__).resolve().parents[2]
EXAMPLE = Path("examples/parallel_training_example.py")
MOST_LINES = 60


def test_the_training_loop_of_the_documents_runs() -> None:
    assert len((REPOSITORY / EXAMPLE).read_text(encoding="utf-8").splitlines()) <= MOST_LINES
    run = subprocess.run(
        [sys.executable, str(EXAMPLE), "--model.blocks", "1"],
        cwd=REPOSITORY,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")
    lines = run.stdout.splitlines()
    assert [line.split(",")[0] for line in lines[:4]] == [f"version {n}: 256 rows" for n in range(1, 5)]
    assert lines[4].startswith("active workers: 2, queue: ")
    assert [line.split(" plies")[0] for line in lines[5:]] == ["worker 0: 512", "worker 1: 512"]
