"""Where the time goes: a trace for viewers and a table for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import torch.profiler
from torch.profiler import ProfilerAction

from keisei.training.events import TrainingEvent, UpdateFinished

TRACE_FILE = "profile-trace.json"
PHASES_FILE = "profile-phases.txt"
#: A trace holds every operation, tens of megabytes an update: of a whole run it would fill memory and disk.
TRACED_UPDATES = 3


class Profile:
    """Traces the first updates of the block, if asked to, and times its phases to the end.

    ``listen`` is a callback that must hear of every update. Both files lie in the run's folder afterwards.
    """

    def __init__(self, enabled: bool, run: Path, phase_seconds: Callable[[], Mapping[str, float]]) -> None:
        self._run = run
        self._phase_seconds = phase_seconds
        self._profiler: torch.profiler.profile | None = None
        if enabled:
            self._profiler = torch.profiler.profile(
                schedule=_first_updates,
                on_trace_ready=lambda profiler: profiler.export_chrome_trace(str(run / TRACE_FILE)),
            )

    def listen(self, event: TrainingEvent) -> None:
        if self._profiler is not None and isinstance(event, UpdateFinished):
            self._profiler.step()

    def __enter__(self) -> Self:
        if self._profiler is not None:
            self._profiler.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._profiler is None:
            return
        self._profiler.stop()
        (self._run / PHASES_FILE).write_text(phase_table(self._phase_seconds()), encoding="utf-8")


def _first_updates(step: int) -> ProfilerAction:
    """What to do in a step; torch's own schedules want a step without a trace before the first."""
    if step < TRACED_UPDATES - 1:
        return ProfilerAction.RECORD
    return ProfilerAction.RECORD_AND_SAVE if step == TRACED_UPDATES - 1 else ProfilerAction.NONE


def phase_table(seconds: Mapping[str, float]) -> str:
    """Phases by time, with their share of the whole."""
    total = sum(seconds.values()) or 1.0
    lines = [f"{'phase':<12} {'seconds':>10} {'share':>7}"]
    lines += [
        f"{phase:<12} {value:>10.3f} {value / total:>7.1%}"
        for phase, value in sorted(seconds.items(), key=lambda item: -item[1])
    ]
    return "\n".join(lines) + "\n"
