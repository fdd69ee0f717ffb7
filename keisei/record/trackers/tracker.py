"""The one interface of all trackers, and which there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.util import find_spec
from typing import Protocol

from keisei.errors import PackageMissingError
from keisei.record.trackers.messages import Artifact, Figures, Rewind, Start

#: Tells the person who trains one sentence.
Report = Callable[[str], None]


class Tracker(Protocol):
    """Somebody who keeps figures. It may block and raise as it likes: it has a process for itself."""

    def log(self, figures: Figures) -> None:
        """Keep the figures of an update."""

    def keep(self, artifact: Artifact) -> None:
        """Keep a folder."""

    def rewind(self, message: Rewind) -> None:
        """Expect figures of updates after ``message.update`` again."""

    def finish(self, *, failed: bool) -> None:
        """Write and send what is left."""


def make_tracker(name: str, start: Start, report: Report) -> Tracker:
    """The tracker called ``name``, ready for figures."""
    if name == "tensorboard":
        from keisei.record.trackers.tensorboard_tracker import TensorBoardTracker

        return TensorBoardTracker(start)
    from keisei.record.trackers.wandb_tracker import WandbTracker

    return WandbTracker(start, report)


def require_installed(trackers: Iterable[str]) -> None:
    """Refuse a tracker whose package is missing, before a run begins. Nothing is imported."""
    for name in trackers:
        if find_spec(name) is None:
            raise PackageMissingError(
                f"record.trackers names {name!r}, which is not installed; pip install 'keisei[{name}]', or leave it out"
            )
