"""Where the time goes: a trace for viewers, a table for people, nothing when nobody asked."""

import json
from pathlib import Path

import pytest
import torch
from tiny_runs import new_run, tiny_config, train

from keisei.training.profiling import PHASES_FILE, TRACE_FILE, phase_table, profiled


def test_a_profiled_run_leaves_a_trace_and_a_table(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    train(run, tiny_config(1, training__profile=True))
    events = json.loads((run.path / TRACE_FILE).read_text())["traceEvents"]
    assert any("conv" in str(event.get("name")) for event in events)
    table = (run.path / PHASES_FILE).read_text()
    assert {"collect", "learn"} <= set(table.split())


def test_nothing_is_written_when_nobody_asked(tmp_path: Path) -> None:
    with profiled(False, tmp_path, lambda: {"learn": 1.0}):
        torch.ones(3).sum()
    assert list(tmp_path.iterdir()) == []


def test_an_error_inside_passes_through(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), profiled(True, tmp_path, dict):
        _ = 1 / 0


def test_the_table_shows_shares_of_the_whole_largest_first() -> None:
    lines = phase_table({"learn": 1.0, "collect": 3.0}).splitlines()
    assert lines[1].split() == ["collect", "3.000", "75.0%"]
    assert lines[2].split() == ["learn", "1.000", "25.0%"]


def test_a_table_of_nothing_is_no_error() -> None:
    assert len(phase_table({}).splitlines()) == 1
