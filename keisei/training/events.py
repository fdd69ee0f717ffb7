"""What callbacks are told: one small immutable class for each thing that happens in a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from keisei.evaluation.ratings import Rating
from keisei.evaluation.scores import Score


@dataclass(frozen=True)
class TrainingStarted:
    """The run is about to play its first ply, or to go on after `update` updates."""

    run: Path
    update: int
    plies: int


@dataclass(frozen=True)
class UpdateFinished:
    """An update is done and counted; `metrics` are those that the journal got."""

    update: int
    plies: int
    metrics: Mapping[str, float]


@dataclass(frozen=True)
class CheckpointSaved:
    """A checkpoint is on disk, whole."""

    update: int
    path: Path


@dataclass(frozen=True)
class EvaluationFinished:
    """A match against a fixed opponent is over. The network played as it was after ``update``, maybe long ago."""

    update: int
    plies: int
    opponent: str
    score: Score


@dataclass(frozen=True)
class CheckpointRated:
    """The checkpoint of ``update`` has its place on the scale on which random is 0."""

    update: int
    plies: int
    rating: Rating
    is_strongest: bool


@dataclass(frozen=True)
class LearningCollapsed:
    """The collapse guard has seen enough; ``words`` say what."""

    update: int
    plies: int
    words: str


@dataclass(frozen=True)
class RolledBack:
    """The run goes on from the checkpoint of ``update``, an earlier one; later updates will come again."""

    update: int
    plies: int
    words: str


@dataclass(frozen=True)
class TrainingFinished:
    """The loop has ended; `reason` says why in plain words."""

    update: int
    plies: int
    reason: str


TrainingEvent = (
    TrainingStarted
    | UpdateFinished
    | CheckpointSaved
    | EvaluationFinished
    | CheckpointRated
    | LearningCollapsed
    | RolledBack
    | TrainingFinished
)
