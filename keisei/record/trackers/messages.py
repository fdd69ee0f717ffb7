"""What the trainer tells the process of the trackers: small records, one line of JSON each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class WandbOptions:
    """What Weights & Biases is told about the run besides its figures."""

    project: str
    mode: Literal["auto", "online", "offline"]


@dataclass(frozen=True)
class Start:
    """The first message: which run this is. Figures of updates after ``update`` will come, maybe again."""

    trackers: tuple[str, ...]
    name: str
    folder: str
    update: int
    config: Mapping[str, Any]
    wandb: WandbOptions


@dataclass(frozen=True)
class Figures:
    """Numbers that belong to an update, by name."""

    update: int
    values: Mapping[str, float]


@dataclass(frozen=True)
class Artifact:
    """A folder to keep: the checkpoint of an update."""

    update: int
    folder: str


@dataclass(frozen=True)
class Rewind:
    """The run goes on from an earlier update: figures of later ones will come again."""

    update: int


@dataclass(frozen=True)
class Finish:
    """The last message."""

    failed: bool


Message = Start | Figures | Artifact | Rewind | Finish

_KINDS: Mapping[str, type[Message]] = {
    kind.__name__: kind for kind in (Start, Figures, Artifact, Rewind, Finish)
}


def encode(message: Message) -> bytes:
    """A message as one line."""
    return json.dumps({"kind": type(message).__name__, **asdict(message)}, default=str).encode() + b"\n"


def decode(line: bytes) -> Message:
    """The message of a line that `encode` made."""
    fields = json.loads(line)
    kind = _KINDS[fields.pop("kind")]
    if kind is Start:
        fields |= {"trackers": tuple(fields["trackers"]), "wandb": WandbOptions(**fields["wandb"])}
    return kind(**fields)
