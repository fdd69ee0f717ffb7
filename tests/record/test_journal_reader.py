"""Tests of keisei.record.journal_reader."""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from keisei.errors import JournalError
from keisei.record.journal import MAX_WATCHED_PLIES, Event, Game, Journal, JournalReader
from keisei.record.journal_schema import Exam, Thought, WatchedPly

READ_AS_AN_ORDINARY_USER = """
import os, sys
from pathlib import Path
from keisei.errors import JournalError
from keisei.record.journal import JournalReader

if os.geteuid() == 0:
    os.setuid(65534)
try:
    print([point.update for point in JournalReader(Path(sys.argv[1])).series("loss")])
except JournalError as error:
    print(error)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite"


def test_series_and_latest_know_each_metric_by_itself(path: Path) -> None:
    with Journal(path) as journal:
        journal.add_metrics(1, 10, {"loss": 1.0, "lr": 0.1})
        journal.add_metrics(2, 20, {"loss": 0.5})
        journal.add_metrics(3, 30, {"loss": 0.25, "score": 0.7})
    reader = JournalReader(path)
    assert reader.metric_names() == ["loss", "lr", "score"]
    assert [point.value for point in reader.series("loss", after_update=1)] == [0.5, 0.25]
    assert reader.series("unknown") == []
    latest = {name: (point.update, point.plies, point.value) for name, point in reader.latest().items()}
    assert latest == {"loss": (3, 30, 0.25), "lr": (1, 10, 0.1), "score": (3, 30, 0.7)}


def test_an_empty_journal_has_nothing(path: Path) -> None:
    Journal(path).close()
    reader = JournalReader(path)
    assert (reader.metric_names(), reader.latest(), reader.games(), reader.events()) == ([], {}, [], [])


def test_rows_are_read_in_order_by_tail_and_after_a_known_row(path: Path) -> None:
    with Journal(path) as journal:
        for update in range(1, 8):
            journal.add_event(update, Event("note", str(update)))
            journal.add_game(update, Game("a", "b", "start", (), None, str(update)))
    reader = JournalReader(path)
    assert [entry.content.message for entry in reader.events(last=3)] == ["5", "6", "7"]
    assert [entry.content.reason for entry in reader.games(after_row=5)] == ["6", "7"]
    assert [entry.row for entry in reader.games(after_row=2, last=2)] == [6, 7]


def test_a_snapshot_answers_from_one_moment_and_does_not_hold_the_writer_up(path: Path) -> None:
    with Journal(path) as journal, JournalReader(path) as reader:
        journal.add_metrics(1, 10, {"loss": 1.0})
        journal.commit()
        with reader.snapshot():
            assert len(reader.series("loss")) == 1
            journal.add_metrics(2, 20, {"loss": 0.5})
            journal.commit()
            assert len(reader.series("loss")) == 1
        assert len(reader.series("loss")) == 2


def test_a_reader_cannot_write(path: Path) -> None:
    Journal(path).close()
    reader = JournalReader(path)
    with pytest.raises(JournalError, match="readonly"):
        reader._rows("DELETE FROM events")


def test_a_missing_journal_is_a_clear_error_and_is_not_created(path: Path) -> None:
    with pytest.raises(JournalError, match="no journal at"):
        JournalReader(path)
    assert not path.exists()


@pytest.mark.parametrize("content", [b"", b"no database at all" * 300])
def test_a_damaged_journal_is_a_clear_error(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(JournalError, match=r"journal\.sqlite"):
        JournalReader(path)


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that an ordinary user can reach but not write to; pytest's own are closed to other users."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX permissions")
def test_a_closed_journal_can_be_read_without_write_permission(public_folder: Path, start_python) -> None:
    path = public_folder / "journal.sqlite"
    with Journal(path) as journal:
        journal.add_metrics(1, 10, {"loss": 1.0})
    public_folder.chmod(0o555)
    output, errors = start_python(READ_AS_AN_ORDINARY_USER, path).communicate()
    assert (output.strip(), errors) == ("[1]", "")


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX permissions")
def test_a_journal_in_use_can_be_read_without_write_permission(public_folder: Path, start_python) -> None:
    path = public_folder / "journal.sqlite"
    with Journal(path) as journal:
        journal.add_metrics(1, 10, {"loss": 1.0})
        journal.commit()
        public_folder.chmod(0o555)
        output, errors = start_python(READ_AS_AN_ORDINARY_USER, path).communicate()
        public_folder.chmod(0o755)
    assert (output.strip(), errors) == ("[1]", "")


# ---- what viewers watch


def test_the_version_tells_that_something_was_committed(path: Path) -> None:
    with Journal(path) as journal:
        reader = JournalReader(path)
        before = reader.version()
        assert reader.version() == before
        journal.add_event(1, Event("note", "news"))
        journal.commit()
        assert reader.version() != before


def test_thoughts_belong_to_their_game_and_to_no_other(path: Path) -> None:
    thoughts = (Thought(0.25, (("7g7f", 0.5), ("2g2f", 0.25))), Thought(-0.5))
    with Journal(path) as journal:
        journal.add_game(1, Game("a", "b", "start", ("7g7f",), None, "max_plies"))
        journal.add_game(1, Game("a", "b", "start", ("7g7f", "3c3d"), None, "max_plies"), thoughts)
        journal.add_game(1, Game("a", "b", "start", ("2g2f",), None, "max_plies"))
    reader = JournalReader(path)
    assert [reader.thoughts(entry.row) for entry in reader.games()] == [[], list(thoughts), []]
    assert reader.thoughts(99) == []


def test_watched_plies_come_back_and_only_the_newest_are_kept(path: Path) -> None:
    ply = WatchedPly(1, 7, "sfen", "7g7f", Thought(0.5, (("7g7f", 0.9),)), "over")
    with Journal(path) as journal:
        for update in (1, 2):
            journal.add_watched_plies(update, [ply] * (MAX_WATCHED_PLIES - 1))
            journal.commit()
    plies = JournalReader(path).watched_plies()
    assert len(plies) == MAX_WATCHED_PLIES
    assert plies[-1].content == ply
    assert JournalReader(path).watched_plies(after_row=plies[-3].row) == plies[-2:]


def test_of_a_state_the_newest_is_known(path: Path) -> None:
    with Journal(path, clock=lambda: 5.0) as journal:
        journal.add_state(1, "workers", {"alive": 1})
        journal.add_state(2, "workers", {"alive": [2]})
    state = JournalReader(path).state("workers")
    assert state is not None
    assert (state.update, state.time, state.content) == (2, 5.0, {"alive": [2]})
    assert JournalReader(path).state("other") is None


def test_exams_are_read_and_impossible_ones_refused(path: Path) -> None:
    with Journal(path) as journal:
        journal.add_exam(3, Exam(5, 100, 23))
    assert [(entry.update, entry.content) for entry in JournalReader(path).exams()] == [(3, Exam(5, 100, 23))]
    with pytest.raises(ValueError, match="at most all"):
        Exam(1, 10, 11)


def test_what_an_older_keisei_did_not_record_is_empty(path: Path) -> None:
    Journal(path).close()
    with closing(sqlite3.connect(path)) as older:
        for table in ("exams", "game_thoughts", "watched_plies", "latest_states", "ratings"):
            older.execute(f"DROP TABLE {table}")
    reader = JournalReader(path)
    assert (reader.exams(), reader.thoughts(1), reader.watched_plies(), reader.ratings()) == ([], [], [], [])
    assert reader.state("workers") is None


def test_what_is_played_again_is_forgotten(path: Path) -> None:
    with Journal(path) as journal:
        for update in (1, 2):
            journal.add_metrics(update, update, {"loss": 1.0})
            journal.add_game(update, Game("a", "b", "start", ("7g7f",), None, "x"), [Thought(0.5)])
            journal.add_watched_plies(update, [WatchedPly(0, update, "sfen", "7g7f", Thought(0.5))])
            journal.add_exam(update, Exam(1, 2, 1))
        journal.commit()
        journal.rewind(1)
        journal.add_game(2, Game("a", "b", "start", ("2g2f",), None, "x"))
    reader = JournalReader(path)
    assert [entry.content.game for entry in reader.watched_plies()] == [1]
    assert [entry.update for entry in reader.exams()] == [1]
    # The row number of the game that was removed is given again: its thoughts must be gone.
    assert [len(reader.thoughts(entry.row)) for entry in reader.games()] == [1, 0]
