"""Where the time goes: a trace for viewers and a table for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import torch.profiler

TRACE_FILE = "profile-trace.json"
PHASES_FILE = "profile-phases.txt"


@contextmanager
def profiled(enabled: bool, run: Path, phase_seconds: Callable[[], Mapping[str, float]]) -> Iterator[None]:
    """Profiles the block, if asked to, and writes the trace and the table of phases into the run's folder."""
    if not enabled:
        yield
        return
    with torch.profiler.profile() as profiler:
        yield
    profiler.export_chrome_trace(str(run / TRACE_FILE))
    (run / PHASES_FILE).write_text(phase_table(phase_seconds()), encoding="utf-8")


def phase_table(seconds: Mapping[str, float]) -> str:
    """Phases by time, with their share of the whole."""
    total = sum(seconds.values()) or 1.0
    lines = [f"{'phase':<12} {'seconds':>10} {'share':>7}"]
    lines += [
        f"{phase:<12} {value:>10.3f} {value / total:>7.1%}"
        for phase, value in sorted(seconds.items(), key=lambda item: -item[1])
    ]
    return "\n".join(lines) + "\n"
