"""Reading a journal while the trainer writes it: for `keisei runs`, `keisei inspect` and the web page."""

import json
import math
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, NamedTuple, Self, TypeVar

from keisei.errors import JournalError
from keisei.record.journal_schema import (
    LOCK_TIMEOUT_SECONDS,
    Evaluation,
    Event,
    Exam,
    Game,
    PlayerRating,
    Thought,
    WatchedPly,
    check_version,
    explained,
    primary_code,
)

ALL_ROWS = -1  # what SQLite calls no limit

Content = TypeVar("Content")


class MetricPoint(NamedTuple):
    """One value of one metric; ``time`` in seconds since 1970.

    ``value`` is NaN where the trainer had no number.
    """

    update: int
    plies: int
    time: float
    value: float


class Entry(NamedTuple, Generic[Content]):
    """A row of a table: its number there (to ask for later ones), its update, its time, and what it says."""

    row: int
    update: int
    time: float
    content: Content


class JournalReader:
    """Read-only view of a journal; it can neither change nor hold up what the trainer writes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_file():
            raise JournalError(f"there is no journal at {path!s}; has the run been started?")
        with explained(path, "open"):
            self._connection = _connect_read_only(path)
        try:
            with explained(path, "read"):
                check_version(self._connection, path)
        except JournalError:
            self._connection.close()
            raise

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Answer all questions inside the ``with`` block from one moment; keep it short."""
        self._rows("BEGIN")
        try:
            yield
        finally:
            self._rows("ROLLBACK")

    def version(self) -> int:
        """A number that changes whenever the trainer has committed something: cheaper than to look for it."""
        return int(self._rows("PRAGMA data_version")[0][0])

    def metric_names(self) -> list[str]:
        """Every metric that was ever recorded, in alphabetical order."""
        return [name for (name,) in self._rows("SELECT name FROM metric_names ORDER BY name")]

    def series(self, name: str, after_update: int = -1) -> list[MetricPoint]:
        """The values of one metric in order, those of later updates than ``after_update`` only."""
        rows = self._rows(
            "SELECT update_number, plies, time, value FROM metric_values JOIN updates USING (update_number) "
            "WHERE name_id = (SELECT id FROM metric_names WHERE name = ?) AND update_number > ? "
            "ORDER BY update_number",
            name,
            after_update,
        )
        return [_point(row) for row in rows]

    def latest(self) -> dict[str, MetricPoint]:
        """The newest value of every metric."""
        rows = self._rows(
            "SELECT update_number, plies, time, value, name FROM metric_names "
            "JOIN metric_values ON name_id = id "
            "AND update_number = (SELECT MAX(update_number) FROM metric_values WHERE name_id = id) "
            "JOIN updates USING (update_number) ORDER BY name"
        )
        return {row[4]: _point(row[:4]) for row in rows}

    def games(self, after_row: int = 0, last: int = ALL_ROWS) -> list[Entry[Game]]:
        """The ``last`` games with a row number above ``after_row``, oldest first."""
        return [
            Entry(row, update, time, Game(black, white, sfen, tuple(moves.split()), winner, reason))
            for row, update, time, black, white, sfen, moves, winner, reason in self._tail(
                "games", after_row, last
            )
        ]

    def events(self, after_row: int = 0, last: int = ALL_ROWS) -> list[Entry[Event]]:
        """The ``last`` events with a row number above ``after_row``, oldest first."""
        return [
            Entry(row, update, time, Event(kind, message, json.loads(details)))
            for row, update, time, kind, message, details in self._tail("events", after_row, last)
        ]

    def evaluations(self, after_row: int = 0, last: int = ALL_ROWS) -> list[Entry[Evaluation]]:
        """The ``last`` match results with a row number above ``after_row``, oldest first."""
        return [
            Entry(row, update, time, Evaluation(*content))
            for row, update, time, *content in self._tail("evaluations", after_row, last)
        ]

    def ratings(self, after_row: int = 0, last: int = ALL_ROWS) -> list[Entry[PlayerRating]]:
        """The ``last`` places on the ladder with a row number above ``after_row``, oldest first."""
        if not self._has("ratings"):
            return []
        return [
            Entry(row, update, time, PlayerRating(player, math.nan if elo is None else elo, low, high, games))
            for row, update, time, player, elo, low, high, games in self._tail("ratings", after_row, last)
        ]

    def exams(self, after_row: int = 0, last: int = ALL_ROWS) -> list[Entry[Exam]]:
        """The ``last`` exam results with a row number above ``after_row``, oldest first."""
        if not self._has("exams"):
            return []
        return [
            Entry(row, update, time, Exam(*content))
            for row, update, time, *content in self._tail("exams", after_row, last)
        ]

    def thoughts(self, game_row: int) -> list[Thought]:
        """What the network thought at each ply of a kept game; empty where that was not recorded."""
        if not self._has("game_thoughts"):
            return []
        rows = self._rows("SELECT thoughts FROM game_thoughts WHERE game_id = ?", game_row)
        return [Thought.from_list(content) for content in json.loads(rows[0][0])] if rows else []

    def watched_plies(self, after_row: int = 0, last: int = ALL_ROWS) -> list[Entry[WatchedPly]]:
        """The ``last`` plies to be watched with a row number above ``after_row``, oldest first."""
        if not self._has("watched_plies"):
            return []
        return [
            Entry(
                row,
                update,
                time,
                WatchedPly(board, game, sfen, move, Thought.from_list(json.loads(thought)), ending),
            )
            for row, update, time, board, game, sfen, move, thought, ending in self._tail(
                "watched_plies", after_row, last
            )
        ]

    def state(self, name: str) -> Entry[dict[str, Any]] | None:
        """How ``name`` stood when it was recorded last; None where it never was."""
        if not self._has("latest_states"):
            return None
        rows = self._rows(
            "SELECT rowid, update_number, time, content FROM latest_states WHERE name = ?", name
        )
        if not rows:
            return None
        row, update, time, content = rows[0]
        return Entry(row, update, time, json.loads(content))

    def _has(self, table: str) -> bool:
        """Whether there is the table: the journal of an older Keisei may lack it."""
        return bool(self._rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", table))

    def _tail(self, table: str, after_row: int, last: int) -> list[tuple[Any, ...]]:
        newest_first = f"SELECT * FROM {table} WHERE id > ? ORDER BY id DESC LIMIT ?"
        return self._rows(f"SELECT * FROM ({newest_first}) ORDER BY id", after_row, last)

    def _rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        # All rows at once: a cursor left open would keep the trainer from folding the WAL back into the file.
        with explained(self.path, "read"):
            return self._connection.execute(query, parameters).fetchall()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _point(row: tuple[Any, ...]) -> MetricPoint:
    update, plies, time, value = row
    return MetricPoint(update, plies, time, math.nan if value is None else value)


def _connect_read_only(path: Path) -> sqlite3.Connection:
    connection = _connect(path, "mode=ro")
    try:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        connection.close()
        if primary_code(error) not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY) or _has_wal(path):
            raise
        # WAL mode wants a companion file even to read; in a folder without write permission a closed journal
        # is complete by itself and can be read as one that nobody writes.
        return _connect(path, "immutable=1")
    except sqlite3.DatabaseError:
        connection.close()
        raise
    return connection


def _connect(path: Path, option: str) -> sqlite3.Connection:
    uri = f"{path.resolve().as_uri()}?{option}"
    return sqlite3.connect(uri, uri=True, timeout=LOCK_TIMEOUT_SECONDS, isolation_level=None)


def _has_wal(path: Path) -> bool:
    wal = path.with_name(f"{path.name}-wal")
    return wal.exists() and wal.stat().st_size > 0
