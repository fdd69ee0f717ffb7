"""What this process may use of the machine."""

import os
from pathlib import Path

import psutil
import pytest

from keisei.record import machine_limits
from keisei.record.machine_limits import available_cores, available_memory_bytes


@pytest.fixture
def container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(machine_limits, "CONTAINER", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(8)), raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("quota", "cores"),
    [
        (None, 8),
        ("max 100000", 8),
        ("200000 100000", 2),
        ("350000 100000", 3),
        ("50000 100000", 1),
        ("1600000 100000", 8),
    ],
)
def test_the_quota_of_a_container_counts(container: Path, quota: str | None, cores: int) -> None:
    if quota is not None:
        (container / "cpu.max").write_text(f"{quota}\n")
    assert available_cores() == cores


def test_where_affinity_is_unknown_all_cores_count(container: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    assert available_cores() == 5


@pytest.mark.parametrize(
    ("limit", "details", "expected"),
    [
        ("5000", None, 3800),
        ("5000", "anon 700\ninactive_file 300\n", 4100),
        ("1000", None, 0),
    ],
)
def test_the_memory_of_a_container_counts(
    container: Path, limit: str, details: str | None, expected: int
) -> None:
    (container / "memory.max").write_text(f"{limit}\n")
    (container / "memory.current").write_text("1200\n")
    if details is not None:
        (container / "memory.stat").write_text(details)
    assert available_memory_bytes() == expected


@pytest.mark.parametrize("limit", [None, "max\n", f"{2**60}\n"])
def test_without_a_limit_the_machine_counts(container: Path, limit: str | None) -> None:
    (container / "memory.current").write_text("1200\n")
    if limit is not None:
        (container / "memory.max").write_text(limit)
    free = psutil.virtual_memory().available
    assert free / 2 < available_memory_bytes() < free * 2
