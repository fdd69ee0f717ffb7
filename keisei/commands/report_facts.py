"""Everything that a report says about a run, read from its folder at one moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple, Self

from keisei.config_loader import effective_yaml, key_lines, load_config
from keisei.config_schema import AppConfig
from keisei.errors import ConfigError
from keisei.record.journal_reader import Entry, JournalReader, MetricPoint
from keisei.record.journal_schema import Evaluation, Event, Game, PlayerRating
from keisei.record.metrics import PHASE_PREFIX
from keisei.record.run_directory import RunDirectory

SHOWN_EVENTS: Final = 30
#: Games that are looked through for good ones, from each end of the run.
READ_GAMES: Final = 5000


class Setting(NamedTuple):
    """A setting that is not at its default, as text."""

    key: str
    value: str
    default: str


@dataclass(frozen=True)
class RunRecord:
    """The facts."""

    name: str
    state: str
    created: datetime
    made: datetime
    config_text: str
    #: None when this Keisei cannot read the run's settings.
    changed: Sequence[Setting] | None
    series: Mapping[str, Sequence[MetricPoint]] = field(default_factory=dict)
    evaluations: Sequence[Entry[Evaluation]] = ()
    ratings: Sequence[Entry[PlayerRating]] = ()
    games: Sequence[Entry[Game]] = ()
    events: Sequence[Entry[Event]] = ()
    machine: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, run: RunDirectory) -> Self:
        """Read the folder; a run that has not begun has no journal."""
        text = _text_of(run.config_path)
        pid = run.trainer_pid
        head = {
            "name": run.name,
            "state": f"It is being trained by process {pid}." if pid else "It is at rest.",
            "created": run.created,
            "made": datetime.now(UTC),
            "config_text": text,
            "changed": changed_settings(run.config_path) if text else (),
        }
        if not run.journal_path.is_file():
            return cls(**head)  # type: ignore[arg-type]  # the keys are the fields' names
        with JournalReader(run.journal_path) as journal, journal.snapshot():
            events = journal.events()
            return cls(
                **head,  # type: ignore[arg-type]  # as above
                series={name: journal.series(name) for name in journal.metric_names()},
                evaluations=journal.evaluations(),
                ratings=journal.ratings(),
                games=journal.games(last=READ_GAMES),
                events=events[-SHOWN_EVENTS:],
                machine=machine_of(events),
            )

    @property
    def updates(self) -> int:
        return max((points[-1].update for points in self.series.values() if points), default=0)

    @property
    def plies(self) -> int:
        return max((points[-1].plies for points in self.series.values() if points), default=0)

    @property
    def games_played(self) -> int:
        points = self.series.get("games", ())
        return int(points[-1].value) if points else 0

    @property
    def seconds(self) -> float:
        """The phases of all updates add up to the time that was trained."""
        phases = [points for name, points in self.series.items() if name.startswith(PHASE_PREFIX)]
        return sum(point.value for points in phases for point in points)


def changed_settings(path: Path) -> list[Setting] | None:
    """The settings of a file that are not at their defaults; None when this Keisei cannot read it."""
    try:
        ours = _values(effective_yaml(load_config(path).config))
    except ConfigError:
        return None
    defaults = _values(effective_yaml(AppConfig()))
    return [Setting(key, value, defaults[key]) for key, value in ours.items() if value != defaults[key]]


def _values(text: str) -> dict[str, str]:
    """Each setting as it is written in a file."""
    lines = text.splitlines()
    return {key: lines[line - 1].partition(": ")[2] for key, line in key_lines(text).items()}


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def machine_of(events: Sequence[Entry[Event]]) -> dict[str, str]:
    """As recorded when the run was started or continued last."""
    starts = [entry.content.details for entry in events if entry.content.kind == "started"]
    return {str(name): str(value) for name, value in starts[-1].items()} if starts else {}
