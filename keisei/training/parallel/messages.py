"""What trainer and workers say to each other. Rows and weights never travel in messages."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from keisei.core.rollout import RolloutSummary


class Command(Enum):
    """What the trainer wants of a worker at once, whatever it is doing."""

    PAUSE = "pause"
    RESUME = "resume"
    RESET = "reset"
    STOP = "stop"
    SAVE_STATE = "save_state"


class Credit(NamedTuple):
    """The worker may fill a slot, with weights of at least this version."""

    slot: int
    min_version: int


@dataclass(frozen=True)
class LoadState:
    """Throw the games away and go on with these."""

    state: dict[str, Any]


class SlotFilled(NamedTuple):
    """A slot is full and whole. `sequence` counts the slots of one life of a worker, from 1."""

    slot: int
    sequence: int
    version: int
    summary: RolloutSummary


@dataclass(frozen=True)
class SavedState:
    """A worker's games in flight and random states."""

    state: dict[str, Any]


@dataclass(frozen=True)
class Failure:
    """A worker is about to end because of this error."""

    error: str
    traceback: str


ToWorker = Command | Credit | LoadState
FromWorker = SlotFilled | SavedState | Failure
