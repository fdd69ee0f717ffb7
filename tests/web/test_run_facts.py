import os
from pathlib import Path

import pytest
from recorded_runs import TOTAL_PLIES, record_run

from keisei.record.run_directory import RunDirectory
from keisei.web.run_facts import Goal, RunFacts


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return record_run(tmp_path, "quiet-lance", updates=1, games=1)


def test_goal_comes_from_the_configuration(run: RunDirectory) -> None:
    assert RunFacts.gather(run).goal == Goal(TOTAL_PLIES, 0.0)


@pytest.mark.parametrize("text", ["training: [not, a, mapping]", "", "{", "training: {total_plies: many}"])
def test_unreadable_configuration_is_no_goal(run: RunDirectory, text: str) -> None:
    run.write_config(text)
    assert RunFacts.gather(run).goal is None


def test_checkpoints_are_folders_with_a_manifest(run: RunDirectory) -> None:
    for name in ("update-000002", "update-000001", "half-written"):
        (run.checkpoints_path / name).mkdir()
    for name in ("update-000002", "update-000001"):
        (run.checkpoints_path / name / "manifest.json").write_text("{}")
    assert [path.name for path in RunFacts.gather(run).checkpoints] == ["update-000001", "update-000002"]


def test_trainer_and_its_memory(run: RunDirectory) -> None:
    assert RunFacts.gather(run).memory_bytes is None
    with run.lock():
        facts = RunFacts.gather(run)
    assert facts.trainer_pid == os.getpid()
    assert facts.memory_bytes is not None
    assert facts.memory_bytes > 2**20
