"""The journal of a run: one SQLite file of what happened, written by the trainer, read by every viewer.

WAL mode lets viewers read while the trainer writes. All rows of one update go in by one transaction that the
disk has before ``commit`` returns, so after a kill or a power cut an update is there with all its rows or not
at all.
"""

import json
import math
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from keisei.errors import JournalError
from keisei.record.journal_reader import JournalReader
from keisei.record.journal_schema import (
    LOCK_TIMEOUT_SECONDS,
    SCHEMA,
    UPDATE_TABLES,
    Evaluation,
    Event,
    Exam,
    Game,
    PlayerRating,
    Thought,
    WatchedPly,
    check_version,
    explained,
)

__all__ = ["Evaluation", "Event", "Game", "Journal", "JournalReader", "PlayerRating"]

#: Watched plies are for looking at now: only the newest are kept.
MAX_WATCHED_PLIES = 2_000

Statement = tuple[str, tuple[Any, ...]]


class Journal:
    """The one writer. ``add_…`` collect rows in memory; ``commit`` writes them in one transaction.

    When a commit fails because of the disk, its rows stay collected and go in with the next one that
    succeeds.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self._clock = clock
        self._pending: list[Statement] = []
        with explained(path, "open"):
            # isolation_level=None: transactions begin and end where this class says, not where the module
            # guesses
            self._connection = sqlite3.connect(path, timeout=LOCK_TIMEOUT_SECONDS, isolation_level=None)
        try:
            with explained(path, "open"):
                self._last_update = self._prepare()
        except JournalError:
            self._connection.close()
            raise

    @property
    def last_update(self) -> int:
        """The newest update that was recorded, 0 where there is none."""
        return self._last_update

    def _prepare(self) -> int:
        if self._connection.execute("SELECT 1 FROM sqlite_master").fetchone():
            check_version(self._connection, self.path)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        with self._transaction():
            for statement in SCHEMA:
                self._connection.execute(statement)
        newest = self._connection.execute("SELECT MAX(update_number) FROM updates").fetchone()[0]
        return 0 if newest is None else int(newest)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:  # a full disk makes SQLite roll back by itself
                self._connection.execute("ROLLBACK")
            raise

    def add_metrics(self, update: int, plies: int, values: Mapping[str, float]) -> None:
        """Collect the metrics of a finished update; each update once. NaN is kept as "no number"."""
        if update <= self._last_update:
            raise JournalError(
                f"expected an update after {self._last_update}, got {update!r}, for {self.path!s}; "
                "call rewind() with the checkpoint's update before playing updates again"
            )
        self._last_update = update
        self._pending.append(
            ("INSERT INTO updates VALUES (?, ?, ?)", (int(update), int(plies), self._clock()))
        )
        for name, value in values.items():
            number = None if math.isnan(value) else float(value)
            self._pending.append(("INSERT OR IGNORE INTO metric_names (name) VALUES (?)", (name,)))
            self._pending.append(
                (
                    "INSERT INTO metric_values SELECT id, ?, ? FROM metric_names WHERE name = ?",
                    (int(update), number, name),
                )
            )

    def add_game(self, update: int, game: Game, thoughts: Sequence[Thought] = ()) -> None:
        """Collect one game, with what the network thought at each ply where that is known."""
        moves = " ".join(game.moves)
        self._insert(
            "games", update, game.black, game.white, game.start_sfen, moves, game.winner, game.reason
        )
        if thoughts:
            text = json.dumps([thought.as_list() for thought in thoughts], separators=(",", ":"))
            # In the same transaction, so the row inserted last is the game.
            self._pending.append(
                ("INSERT INTO game_thoughts VALUES (last_insert_rowid(), ?, ?)", (int(update), text))
            )

    def add_watched_plies(self, update: int, plies: Sequence[WatchedPly]) -> None:
        """Collect plies to be watched; they replace the oldest."""
        for ply in plies:
            thought = json.dumps(ply.thought.as_list(), separators=(",", ":"))
            self._insert(
                "watched_plies", update, ply.board, ply.game, ply.sfen, ply.move, thought, ply.ending
            )
        if plies:
            self._pending.append(
                (
                    "DELETE FROM watched_plies WHERE id <= (SELECT MAX(id) FROM watched_plies) - ?",
                    (MAX_WATCHED_PLIES,),
                )
            )

    def add_state(self, update: int, name: str, content: Mapping[str, Any]) -> None:
        """Collect how something stands now; of each name only the newest state is kept."""
        text = json.dumps(dict(content), default=str)
        self._pending.append(
            (
                "INSERT OR REPLACE INTO latest_states VALUES (?, ?, ?, ?)",
                (name, int(update), self._clock(), text),
            )
        )

    def add_evaluation(self, update: int, evaluation: Evaluation) -> None:
        """Collect one match result."""
        counts = (evaluation.games, evaluation.wins, evaluation.draws, evaluation.losses)
        score = (evaluation.score, evaluation.low, evaluation.high)
        self._insert("evaluations", update, evaluation.opponent, *map(int, counts), *map(float, score))

    def add_rating(self, update: int, rating: PlayerRating) -> None:
        """Collect one place on the ladder, of the network as it was after ``update``."""
        elo = None if math.isnan(rating.elo) else float(rating.elo)
        self._insert(
            "ratings", update, rating.player, elo, float(rating.low), float(rating.high), int(rating.games)
        )

    def add_exam(self, update: int, exam: Exam) -> None:
        """Collect how the network of ``update`` did in an exam."""
        self._insert("exams", update, int(exam.mate_plies), int(exam.problems), int(exam.solved))

    def _insert(self, table: str, update: int, *content: Any) -> None:
        """Collect a row of a table that begins with its number, the update and the time."""
        marks = ", ".join("?" * (2 + len(content)))
        self._pending.append(
            (f"INSERT INTO {table} VALUES (NULL, {marks})", (int(update), self._clock(), *content))
        )

    def add_event(self, update: int, event: Event) -> None:
        """Collect one event."""
        self._pending.append(self._event_row(update, event))

    def _event_row(self, update: int, event: Event) -> Statement:
        # Messages quote paths and errors, which may hold bytes that are no UTF-8; an event must never fail
        # for that.
        message = event.message.encode("utf-8", "backslashreplace").decode("utf-8")
        details = json.dumps(dict(event.details), sort_keys=True, default=str)
        return (
            "INSERT INTO events VALUES (NULL, ?, ?, ?, ?, ?)",
            (int(update), self._clock(), event.kind, message, details),
        )

    def commit(self) -> None:
        """Write everything collected since the last commit, all or nothing."""
        if not self._pending:
            return
        rows, self._pending = self._pending, []
        with explained(self.path, "write to"):
            try:
                with self._transaction():
                    for statement, values in rows:
                        self._connection.execute(statement, values)
            except sqlite3.OperationalError:  # the disk's fault, not the rows': they may go in later
                self._pending = rows + self._pending
                raise

    def rewind(self, update: int) -> int:
        """Forget what came after ``update``, since it will be played again; returns the rows removed.

        Events stay, since they did happen, and the rewind becomes one. One transaction: a kill leaves all or
        nothing.
        """
        with explained(self.path, "rewind"), self._transaction():
            removed = sum(self._delete_after(table, update) for table in UPDATE_TABLES)
            self._delete_after("updates", update)
            message = f"continued from update {update}; {removed} rows of later updates removed"
            event = Event("resumed", message, {"removed_rows": removed})
            self._connection.execute(*self._event_row(update, event))
        self._last_update = min(self._last_update, update)
        return removed

    def _delete_after(self, table: str, update: int) -> int:
        return self._connection.execute(
            f"DELETE FROM {table} WHERE update_number > ?", (int(update),)
        ).rowcount

    def close(self) -> None:
        """Write what is collected and close.

        The file is then complete by itself, without its WAL companion.
        """
        try:
            self.commit()
        finally:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
