"""Where the time goes: a trace for viewers, a table for people, nothing when nobody asked."""

import json
from pathlib import Path

import pytest
import torch
from tiny_runs import new_run, tiny_config, train

from keisei.training.events import UpdateFinished
from keisei.training.profiling import PHASES_FILE, TRACE_FILE, TRACED_UPDATES, Profile, phase_table


def update(number: int) -> UpdateFinished:
    return UpdateFinished(number, 64 * number, {})


def traced_operations(folder: Path) -> list[str]:
    return [str(event.get("name")) for event in json.loads((folder / TRACE_FILE).read_text())["traceEvents"]]


@pytest.mark.parametrize("updates", [1, TRACED_UPDATES + 1])
def test_a_profiled_run_leaves_a_trace_and_a_table(tmp_path: Path, updates: int) -> None:
    run = new_run(tmp_path)
    train(run, tiny_config(updates, training__profile=True))
    assert any("conv" in name for name in traced_operations(run.path))
    table = (run.path / PHASES_FILE).read_text()
    assert {"collect", "learn"} <= set(table.split())


def test_only_the_first_updates_are_traced(tmp_path: Path) -> None:
    """Of a whole run a trace would fill the memory."""
    with Profile(True, tmp_path, lambda: {"learn": 1.0}) as profile:
        for number in range(1, TRACED_UPDATES + 3):
            with torch.profiler.record_function(f"work of update {number}"):
                torch.ones(3).sum()
            profile.listen(update(number))
    traced = [name for name in traced_operations(tmp_path) if name.startswith("work of update")]
    assert traced == [f"work of update {number}" for number in range(1, TRACED_UPDATES + 1)]


def test_nothing_is_written_when_nobody_asked(tmp_path: Path) -> None:
    with Profile(False, tmp_path, lambda: {"learn": 1.0}) as profile:
        torch.ones(3).sum()
        profile.listen(update(1))
    assert list(tmp_path.iterdir()) == []


def test_an_error_inside_passes_through(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), Profile(True, tmp_path, dict):
        _ = 1 / 0


def test_the_table_shows_shares_of_the_whole_largest_first() -> None:
    lines = phase_table({"learn": 1.0, "collect": 3.0}).splitlines()
    assert lines[1].split() == ["collect", "3.000", "75.0%"]
    assert lines[2].split() == ["learn", "1.000", "25.0%"]


def test_a_table_of_nothing_is_no_error() -> None:
    assert len(phase_table({}).splitlines()) == 1
