"""The runs that a page shows: one folder of a run, or every run in a folder.

A name that comes from a browser is only ever looked up among the runs found here; it never becomes a path.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from keisei.errors import RunDirectoryError
from keisei.record.run_directory import FORMAT_FILE, RunDirectory, list_runs
from keisei.web.run_feed import RunFeed

RESCAN_SECONDS: Final = 2.0


class RunLibrary:
    """Finds runs and keeps one feed for each that somebody looks at."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.folder = folder
        self._clock = clock
        self._scanned_at = -RESCAN_SECONDS
        self._runs: dict[str, RunDirectory] = {}
        self._feeds: dict[str, RunFeed] = {}

    @classmethod
    def find(cls, target: str | None, runs: Path) -> "RunLibrary":
        """The library for `keisei web TARGET`: a run's name or folder, a folder of runs, or all of ``runs``."""
        if target is None:
            return cls(runs)
        folder = Path(target)
        if folder.is_dir() and not (folder / FORMAT_FILE).is_file():
            return cls(folder)
        return cls(RunDirectory.find(runs, target).path)

    def names(self) -> list[str]:
        """The runs, the one trained last first."""
        self._rescan()
        return sorted(self._runs, key=lambda name: self._runs[name].last_trained, reverse=True)

    def _rescan(self) -> None:
        now = self._clock()
        if now - self._scanned_at >= RESCAN_SECONDS:
            self._scanned_at = now
            self._runs = {run.name: run for run in self._scan()}

    def _scan(self) -> list[RunDirectory]:
        if (self.folder / FORMAT_FILE).is_file():
            return [RunDirectory.open(self.folder)]
        return list_runs(self.folder)

    def feed(self, name: str) -> RunFeed:
        """The feed of the run called ``name``, up to date."""
        self._rescan()
        if name not in self._runs:
            raise RunDirectoryError(f"no run called {name!r} on this page; it shows {sorted(self._runs)!r}")
        feed = self._feeds.get(name)
        if feed is None:
            feed = self._feeds[name] = RunFeed(self._runs[name])
        feed.look()
        return feed

    def beat(self) -> None:
        """Look at the runs that somebody watches, and tell whoever does; one beat serves all visitors."""
        for feed in tuple(self._feeds.values()):
            feed.tell()

    def close(self) -> None:
        """Close all journals."""
        for feed in self._feeds.values():
            feed.close()
