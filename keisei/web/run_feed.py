"""What the page knows of one run: its journal, read a little further at every look.

One feed serves all visitors, so five of them cost the run no more than one: a few small reads a second, and panels are
drawn only when there is something new to show.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from keisei.errors import JournalError
from keisei.record.journal_reader import Entry, JournalReader, MetricPoint
from keisei.record.journal_schema import Evaluation, Event, Exam, Game, PlayerRating, Thought
from keisei.record.run_directory import RunDirectory
from keisei.web.live_boards import LiveBoards
from keisei.web.run_facts import RunFacts

#: Looks at the journal are at least this far apart, however many clients ask.
LOOK_SECONDS: Final = 0.2
#: Processes and folders change slowly, and asking for them costs more.
FACTS_SECONDS: Final = 2.0
#: The newest rows of each table that are held in memory; 5,000 games take about 50 MB.
MAX_GAMES: Final = 5_000
MAX_EVENTS: Final = 1_000
MAX_EVALUATIONS: Final = 20_000
MAX_RATINGS: Final = 20_000
MAX_EXAMS: Final = 1_000
#: States that the trainer records by name.
STATES: Final = ("workers", "evaluation")

Row = TypeVar("Row")


@dataclass
class _Held:
    """What was read so far. ``metrics`` grow by name when somebody asks for them."""

    latest: dict[str, MetricPoint] = field(default_factory=dict)
    newest: MetricPoint | None = None
    metrics: dict[str, list[MetricPoint]] = field(default_factory=dict)
    games: list[Entry[Game]] = field(default_factory=list)
    events: list[Entry[Event]] = field(default_factory=list)
    evaluations: list[Entry[Evaluation]] = field(default_factory=list)
    ratings: list[Entry[PlayerRating]] = field(default_factory=list)
    exams: list[Entry[Exam]] = field(default_factory=list)
    watched_row: int = 0
    commits: int | None = None
    """The reader's version of the journal when it was read last."""
    states: dict[str, Entry[dict[str, Any]]] = field(default_factory=dict)
    live: LiveBoards = field(default_factory=LiveBoards)


class RunFeed:
    """The newest state of a run. ``version`` changes whenever anything does."""

    def __init__(self, run: RunDirectory, clock: Callable[[], float] = time.monotonic) -> None:
        self.run = run
        self.version = 0
        self.problem: str | None = None
        """Why the journal cannot be read, None when it can."""
        self._clock = clock
        self._looked_at = -LOOK_SECONDS
        self._facts_at = -FACTS_SECONDS
        self.listeners: list[Callable[[], None]] = []
        """Whom `tell` tells that something has changed."""
        self._told = 0
        self._reader: JournalReader | None = None
        self._file: int | None = None
        self._held = _Held()

    def look(self) -> int:
        """Read what is new, unless somebody just did; returns the version."""
        now = self._clock()
        if now - self._looked_at >= LOOK_SECONDS:
            self._looked_at = now
            try:
                self._read_on()
                self.problem = None
            except JournalError as error:
                if self.problem != str(error):
                    self.problem = str(error)
                    self.version += 1
        return self.version

    def tell(self) -> None:
        """Look for those who listen, and tell them if anything has changed since they were told last."""
        if self.listeners and self.look() != self._told:
            self._told = self.version
            for listener in tuple(self.listeners):
                listener()

    def _read_on(self) -> None:
        reader = self._open()
        if reader is None or (commits := reader.version()) == self._held.commits:
            return
        held = self._held
        with reader.snapshot():
            events = reader.events(_last_row(held.events), MAX_EVENTS)
            if held.latest and any(event.content.kind == "resumed" for event in events):
                # Rows of updates that are played again were removed, and their numbers will be given anew.
                held = self._held = _Held(events=held.events)
            games = reader.games(_last_row(held.games), MAX_GAMES)
            evaluations = reader.evaluations(_last_row(held.evaluations), MAX_EVALUATIONS)
            ratings = reader.ratings(_last_row(held.ratings), MAX_RATINGS)
            exams = reader.exams(_last_row(held.exams), MAX_EXAMS)
            watched = reader.watched_plies(held.watched_row)
            latest = reader.latest()
            states = {name: state for name in STATES if (state := reader.state(name)) is not None}
        news = (events, games, evaluations, ratings, exams, watched)
        if any(news) or latest != held.latest or states != held.states:
            self.version += 1
        held.latest, held.states = latest, states
        held.newest = max(latest.values(), key=lambda point: point.update, default=None)
        _append(held.events, events, MAX_EVENTS)
        _append(held.games, games, MAX_GAMES)
        _append(held.evaluations, evaluations, MAX_EVALUATIONS)
        _append(held.ratings, ratings, MAX_RATINGS)
        _append(held.exams, exams, MAX_EXAMS)
        held.commits = commits
        held.watched_row = watched[-1].row if watched else held.watched_row
        held.live.take(watched)

    def _open(self) -> JournalReader | None:
        """The reader, opened anew when the file was exchanged; None while there is no journal."""
        try:
            file = self.run.journal_path.stat().st_ino
        except FileNotFoundError:
            return self._reader
        if self._reader is None or file != self._file:
            self.close()
            self._reader = JournalReader(self.run.journal_path)
            self._file = file
            self._held = _Held()
        return self._reader

    def close(self) -> None:
        """Close the journal."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    # ---- what was read

    @property
    def facts(self) -> RunFacts:
        """What the folder and the operating system say, at most `FACTS_SECONDS` old."""
        now = self._clock()
        if now - self._facts_at >= FACTS_SECONDS:
            self._facts_at = now
            self._facts = RunFacts.gather(self.run)
        return self._facts

    @property
    def latest(self) -> dict[str, MetricPoint]:
        """The newest value of every metric."""
        return self._held.latest

    @property
    def games(self) -> list[Entry[Game]]:
        """The newest kept games, oldest first."""
        return self._held.games

    @property
    def events(self) -> list[Entry[Event]]:
        """The newest events, oldest first."""
        return self._held.events

    @property
    def evaluations(self) -> list[Entry[Evaluation]]:
        """The newest match results, oldest first."""
        return self._held.evaluations

    @property
    def ratings(self) -> list[Entry[PlayerRating]]:
        """The newest places on the ladder, oldest first."""
        return self._held.ratings

    @property
    def exams(self) -> list[Entry[Exam]]:
        """The newest results of the tsume exam, oldest first."""
        return self._held.exams

    @property
    def live(self) -> LiveBoards:
        """The games that can be watched."""
        return self._held.live

    def state(self, name: str) -> Entry[dict[str, Any]] | None:
        """How ``name`` stood when it was recorded last, None when it never was."""
        return self._held.states.get(name)

    def thoughts(self, game_row: int) -> list[Thought]:
        """What the network thought at each ply of a kept game, where it was recorded."""
        return [] if self._reader is None else self._reader.thoughts(game_row)

    def figure(self, name: str) -> float | None:
        """The newest value of one metric, None when it was never recorded."""
        point = self._held.latest.get(name)
        return None if point is None else point.value

    def newest_point(self) -> MetricPoint | None:
        """Where the run is: the point of the newest update."""
        return self._held.newest

    def series(self, name: str) -> list[MetricPoint]:
        """All values of one metric: always the same list, to which new ones are added."""
        latest = self._held.latest.get(name)
        if self._reader is None or latest is None:
            return []
        points = self._held.metrics.setdefault(name, [])
        last = points[-1].update if points else -1
        if latest.update == last + 1:  # nothing can lie between: the journal need not be asked
            points.append(latest)
        elif latest.update > last:
            points += self._reader.series(name, last)
        return points

    def game(self, row: int) -> Entry[Game] | None:
        """The kept game with this row number."""
        return next((entry for entry in self._held.games if entry.row == row), None)


def _last_row(entries: list[Entry[Row]]) -> int:
    return entries[-1].row if entries else 0


def _append(entries: list[Entry[Row]], new: list[Entry[Row]], limit: int) -> None:
    entries += new
    del entries[:-limit]
