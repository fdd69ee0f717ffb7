"""A measured run on the CPU: there is no card to watch, but updates, speed and ratios are the same."""

from pathlib import Path

import pytest
from tiny_runs import tiny_config

from keisei.bench.gpu_run import GROUP, measured_run


def test_a_real_run_is_measured_in_groups_of_updates(tmp_path: Path) -> None:
    figures = measured_run(tiny_config(1), tmp_path, updates=2 * GROUP)
    assert len(figures.plies_per_second) == 2
    assert min(figures.plies_per_second) > 0
    assert len(figures.ratio_deviations) == 2 * GROUP + 1
    assert max(figures.ratio_deviations) < 1e-4
    assert set(figures.uploaded_bytes) == {0.0}, "nothing was sent to one"
    assert figures.idle_share == pytest.approx(1), "no kernel ran on a card"


def test_fewer_updates_than_a_group_are_one_figure(tmp_path: Path) -> None:
    assert len(measured_run(tiny_config(1), tmp_path, updates=2).plies_per_second) == 1
