"""What the engine's one loop hears: lines from the GUI, and reports from the threads that work for it."""

from __future__ import annotations

from dataclasses import dataclass

from keisei.usi.thought import Thought


@dataclass(frozen=True)
class Line:
    """A line from the GUI, and when it came (`time.monotonic`): clocks run from here."""

    text: str
    received: float


@dataclass(frozen=True)
class EndOfInput:
    """The GUI is gone."""


@dataclass(frozen=True)
class Loaded:
    """The network is ready."""


@dataclass(frozen=True)
class Failed:
    """A thread cannot go on; the message says why and what to do."""

    message: str


@dataclass(frozen=True)
class Progress:
    """Something worth telling the GUI."""

    task: int
    thought: Thought


@dataclass(frozen=True)
class Finished:
    """A task has nothing more to find out."""

    task: int


@dataclass(frozen=True)
class MateAnswer:
    """The answer to `go mate`: the rest of the `checkmate` line."""

    task: int
    text: str


Event = Line | EndOfInput | Loaded | Failed | Progress | Finished | MateAnswer
