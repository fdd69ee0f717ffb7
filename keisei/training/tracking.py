"""The callback that passes a run's events on to trackers, if there are any."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from keisei.config_schema import AppConfig
from keisei.record.run_directory import RunDirectory
from keisei.record.trackers.messages import Artifact, Figures, Rewind, Start, WandbOptions
from keisei.record.trackers.tracker import require_installed
from keisei.record.trackers.tracker_process import TrackerProcess
from keisei.training.events import (
    CheckpointRated,
    CheckpointSaved,
    EvaluationFinished,
    RolledBack,
    TrainingEvent,
    UpdateFinished,
)

LOG_FILE = "trackers.log"


class Tracking:
    """Tells the trackers of a run what happens, from `with` to its end."""

    def __init__(
        self,
        config: AppConfig,
        run: RunDirectory,
        update: int,
        *,
        on_report: Callable[[str], None],
        should_stop: Callable[[], bool],
    ) -> None:
        record = config.record
        require_installed(record.trackers)
        self._on_report = on_report
        self._should_stop = should_stop
        self._finish_seconds = record.tracker_finish_seconds
        self._artifacts = record.wandb.artifacts
        self._last_checkpoint: Artifact | None = None
        self._process: TrackerProcess | None = None
        if record.trackers:
            start = Start(
                record.trackers,
                run.name,
                str(run.path),
                update,
                config.model_dump(mode="json"),
                WandbOptions(record.wandb.project, record.wandb.mode),
            )
            try:
                self._process = TrackerProcess(start, run.path / LOG_FILE, record.tracker_queue)
            except OSError as error:  # no disk space, or no processes left
                on_report(f"the trackers cannot be started ({error}); the run goes on without them")

    def listen(self, event: TrainingEvent) -> None:
        """The callback."""
        if self._process is None:
            return
        match event:
            case UpdateFinished(update, plies, metrics):
                values = {
                    "train/plies": float(plies),
                    **{f"train/{name}": float(value) for name, value in metrics.items()},
                }
                self._process.send(Figures(update, values))
            case EvaluationFinished(update=update, opponent=opponent, score=score):
                low, high = score.interval
                self._process.send(Figures(update, _bounded(f"score/{opponent}", score.share, low, high)))
            case CheckpointRated(update=update, rating=rating):
                self._process.send(Figures(update, _bounded("rating", rating.elo, rating.low, rating.high)))
            case CheckpointSaved(update, path):
                self._keep(self._process, update, path)
            case RolledBack(update=update):
                self._process.send(Rewind(update))
        self._pass_on_reports(self._process)

    def _keep(self, process: TrackerProcess, update: int, path: Path) -> None:
        self._last_checkpoint = Artifact(update, str(path))
        if self._artifacts == "all":
            process.send(self._last_checkpoint)

    def _pass_on_reports(self, process: TrackerProcess) -> None:
        for report in process.take_reports():
            self._on_report(report)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        process = self._process
        if process is None:
            return
        if self._artifacts == "last" and self._last_checkpoint is not None:
            process.send(self._last_checkpoint)
        process.finish(self._finish_seconds, failed=kind is not None, is_hurried=self._should_stop)
        self._pass_on_reports(process)


def _bounded(name: str, value: float, low: float, high: float) -> dict[str, float]:
    return {name: value, f"{name}_low": low, f"{name}_high": high}
