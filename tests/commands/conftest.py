"""Settings and finished runs for the tests of the commands."""

from pathlib import Path

import pytest
import torch
from tiny_runs import new_run, tiny_config, train

from keisei.record.run_directory import RunDirectory

# Small tensors gain nothing from threads, and several test processes share the cores.
torch.set_num_threads(1)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def measured_run(runs: Path) -> RunDirectory:
    """Two updates and a measurement."""
    run = new_run(runs, "measured")
    train(run, tiny_config(2, evaluation__opponents=["random"], evaluation__games=4))
    return run
