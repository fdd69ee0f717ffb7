"""The tables of the journal, the rows as Python sees them, and the errors that writer and reader share.

The version counts changes that an older Keisei could not read.
"""

import math
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from keisei.errors import JournalError

SCHEMA_VERSION = 1
LOCK_TIMEOUT_SECONDS = 10.0

# The column is update_number since UPDATE is a word of SQL. Metric names have numbers of their own: a value
# then takes about 20 bytes, and "the latest of each" is one index seek per name instead of a scan. The view
# `metrics` puts the rows together again for people with the sqlite3 tool.
SCHEMA = (
    "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)",
    """CREATE TABLE IF NOT EXISTS updates (
        update_number INTEGER PRIMARY KEY, plies INTEGER NOT NULL, time REAL NOT NULL
    )""",
    "CREATE TABLE IF NOT EXISTS metric_names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    """CREATE TABLE IF NOT EXISTS metric_values (
        name_id INTEGER NOT NULL, update_number INTEGER NOT NULL, value REAL,
        PRIMARY KEY (name_id, update_number)
    ) WITHOUT ROWID""",
    """CREATE VIEW IF NOT EXISTS metrics AS
        SELECT update_number, plies, time, name, value
        FROM metric_values JOIN updates USING (update_number) JOIN metric_names ON id = name_id""",
    """CREATE TABLE IF NOT EXISTS games (
        id INTEGER PRIMARY KEY, update_number INTEGER NOT NULL, time REAL NOT NULL,
        black TEXT NOT NULL, white TEXT NOT NULL, start_sfen TEXT NOT NULL, moves TEXT NOT NULL,
        winner TEXT, reason TEXT NOT NULL
    )""",
    """CREATE TABLE IF NOT EXISTS events (
        id INTEGER PRIMARY KEY, update_number INTEGER NOT NULL, time REAL NOT NULL,
        kind TEXT NOT NULL, message TEXT NOT NULL, details TEXT NOT NULL
    )""",
    """CREATE TABLE IF NOT EXISTS evaluations (
        id INTEGER PRIMARY KEY, update_number INTEGER NOT NULL, time REAL NOT NULL,
        opponent TEXT NOT NULL, games INTEGER NOT NULL,
        wins INTEGER NOT NULL, draws INTEGER NOT NULL, losses INTEGER NOT NULL,
        score REAL NOT NULL, low REAL NOT NULL, high REAL NOT NULL
    )""",
    # Newer than version 1, but no reason for a version 2: who does not know the table does not miss it.
    """CREATE TABLE IF NOT EXISTS ratings (
        id INTEGER PRIMARY KEY, update_number INTEGER NOT NULL, time REAL NOT NULL,
        player TEXT NOT NULL, elo REAL, low REAL NOT NULL, high REAL NOT NULL, games INTEGER NOT NULL
    )""",
    """CREATE TABLE IF NOT EXISTS exams (
        id INTEGER PRIMARY KEY, update_number INTEGER NOT NULL, time REAL NOT NULL,
        mate_plies INTEGER NOT NULL, problems INTEGER NOT NULL, solved INTEGER NOT NULL
    )""",
    # As the ratings. Thoughts are JSON as `Thought.as_list` gives it.
    """CREATE TABLE IF NOT EXISTS game_thoughts (
        game_id INTEGER PRIMARY KEY, update_number INTEGER NOT NULL, thoughts TEXT NOT NULL
    )""",
    """CREATE TABLE IF NOT EXISTS watched_plies (
        id INTEGER PRIMARY KEY AUTOINCREMENT, update_number INTEGER NOT NULL, time REAL NOT NULL,
        board INTEGER NOT NULL, game INTEGER NOT NULL, sfen TEXT NOT NULL, move TEXT NOT NULL,
        thought TEXT NOT NULL, ending TEXT NOT NULL
    )""",
    """CREATE TABLE IF NOT EXISTS latest_states (
        name TEXT PRIMARY KEY, update_number INTEGER NOT NULL, time REAL NOT NULL, content TEXT NOT NULL
    )""",
    f"INSERT INTO schema_version SELECT {SCHEMA_VERSION} WHERE NOT EXISTS (SELECT 1 FROM schema_version)",
)

#: Rows that belong to an update, besides the update itself: a run that plays it again writes them again.
UPDATE_TABLES = (
    "metric_values",
    "games",
    "game_thoughts",
    "watched_plies",
    "evaluations",
    "ratings",
    "exams",
)


@dataclass(frozen=True)
class Game:
    """One kept game, self-play or match; moves in USI, ``winner`` is black, white or None."""

    black: str
    white: str
    start_sfen: str
    moves: tuple[str, ...]
    winner: str | None
    reason: str

    def __post_init__(self) -> None:
        """Refuse a winner that no viewer could count."""
        if self.winner not in ("black", "white", None):
            raise ValueError(f"the winner of a game is 'black', 'white' or None, got {self.winner!r}")


@dataclass(frozen=True)
class Evaluation:
    """The result of a match against a fixed opponent; ``low`` and ``high`` bound the score (95 %)."""

    opponent: str
    games: int
    wins: int
    draws: int
    losses: int
    score: float
    low: float
    high: float

    def __post_init__(self) -> None:
        """Refuse a result that does not add up."""
        if self.wins + self.draws + self.losses != self.games or not math.isfinite(
            self.score + self.low + self.high
        ):
            raise ValueError(
                f"a match result needs wins + draws + losses == games and finite scores, got {self!r}"
            )


@dataclass(frozen=True)
class PlayerRating:
    """A place on the ladder in Elo (random is 0), with its 95 % interval; infinite where results do not bound it.

    ``elo`` is NaN where nothing is known.
    """

    player: str
    elo: float
    low: float
    high: float
    games: int

    def __post_init__(self) -> None:
        """Refuse an interval without its estimate."""
        if not (self.low <= self.high) or self.elo < self.low or self.elo > self.high:
            raise ValueError(f"a rating lies between its bounds, got {self!r}")


@dataclass(frozen=True)
class Exam:
    """How many mates of a length a network began rightly."""

    mate_plies: int
    problems: int
    solved: int

    def __post_init__(self) -> None:
        """Refuse a result that cannot be."""
        if not 0 <= self.solved <= self.problems:
            raise ValueError(f"of the problems of an exam at most all are solved, got {self!r}")


@dataclass(frozen=True)
class Thought:
    """What the network said of a position: P(win) - P(loss) of the mover, and its likeliest moves, best first."""

    value: float
    policy: tuple[tuple[str, float], ...] = ()

    def as_list(self) -> list[Any]:
        """For JSON; `from_list` reads it."""
        return [self.value, [list(move) for move in self.policy]]

    @classmethod
    def from_list(cls, content: list[Any]) -> Self:
        """What `as_list` gave."""
        value, policy = content
        return cls(float(value), tuple((str(usi), float(share)) for usi, share in policy))


@dataclass(frozen=True)
class WatchedPly:
    """One ply of a game in play that people may watch: the position, what was thought of it, and the move.

    ``board`` says on which of the watched boards; ``ending`` is empty unless the game ended with this ply.
    """

    board: int
    game: int
    sfen: str
    move: str
    thought: Thought
    ending: str = ""


@dataclass(frozen=True)
class Event:
    """Something that happened: ``kind`` for programs, ``message`` for people, ``details`` as plain JSON."""

    kind: str
    message: str
    details: Mapping[str, Any] = field(default_factory=dict)


@contextmanager
def explained(path: Path, action: str) -> Iterator[None]:
    """Turn SQLite's errors into one that names the file and the next step."""
    try:
        yield
    except sqlite3.Error as error:
        raise JournalError(f"cannot {action} the journal {path!s}: {error}; {_next_step(error)}") from error


def _next_step(error: sqlite3.Error) -> str:
    match primary_code(error):
        case sqlite3.SQLITE_FULL | sqlite3.SQLITE_IOERR:
            return "free some disk space; rows already collected wait in memory for the next commit"
        case sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_CORRUPT:
            return "the file is damaged: move it away, the run then goes on with a new journal"
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return "check the path and its permissions"
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return "another program keeps it locked: close that program"
        case _:
            return "the file was not changed"


def primary_code(error: sqlite3.Error) -> int:
    """The low byte of SQLite's extended error code; the Python module's own errors have no code."""
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code & 0xFF


def check_version(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a database that is no journal or a newer Keisei's."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    row = (
        connection.execute("SELECT version FROM schema_version").fetchone()
        if "schema_version" in tables
        else None
    )
    if row is None or not isinstance(row[0], int):
        raise JournalError(
            f"{path!s} is no journal of Keisei (tables {sorted(tables)!r}); move it away to continue"
        )
    if row[0] > SCHEMA_VERSION:
        raise JournalError(
            f"the journal {path!s} has version {row[0]!r}, this Keisei reads up to {SCHEMA_VERSION}; "
            "a newer Keisei wrote it: upgrade, nothing was changed"
        )
