"""Tests of keisei.record.journal: the writer, alone and as a process that is killed."""

import json
import math
import random
import signal
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from hand_clock import HandClock

from keisei.errors import JournalError
from keisei.record.journal import Evaluation, Event, Game, Journal, JournalReader, PlayerRating

GAME = Game("learner", "version 3", "start", ("7g7f", "3c3d"), "black", "checkmate")
EVALUATION = Evaluation("random", games=10, wins=7, draws=2, losses=1, score=0.8, low=0.5, high=0.95)
RATING = PlayerRating("policy:run@2", elo=812.5, low=700.0, high=math.inf, games=40)
METRICS_PER_UPDATE = 5
GAMES_PER_UPDATE = 2

WRITE_UNTIL_KILLED = f"""
import sys
from pathlib import Path
from keisei.record.journal import Game, Journal

first = int(sys.argv[2])
journal = Journal(Path(sys.argv[1]))
journal.rewind(first - 1)
for update in range(first, first + 100_000):
    values = {{f"metric {{i}}": update + i for i in range({METRICS_PER_UPDATE})}}
    journal.add_metrics(update, update * 100, values)
    for _ in range({GAMES_PER_UPDATE}):
        journal.add_game(update, Game("a", "b", "start", ("7g7f",) * 50, None, "repetition"))
    journal.commit()
    print(update, flush=True)
"""

WRITE_UNDER_A_LIMIT = """
import resource, sys
from pathlib import Path
from keisei.errors import JournalError
from keisei.record.journal import Game, Journal

journal = Journal(Path(sys.argv[1]))
journal.add_metrics(1, 100, {"loss": 1.0})
journal.commit()
size = max(path.stat().st_size for path in Path(sys.argv[1]).parent.iterdir())
unlimited = resource.RLIM_INFINITY
resource.setrlimit(resource.RLIMIT_FSIZE, (size, unlimited))
game = Game("a", "b", "start", ("7g7f",) * 2000, None, "repetition")
for update in (2, 3):
    journal.add_metrics(update, update * 100, {"loss": 1.0 / update})
    for _ in range(20):
        journal.add_game(update, game)
    try:
        journal.commit()
    except JournalError as error:
        print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (unlimited, unlimited))
journal.add_metrics(4, 400, {"loss": 0.25})
journal.close()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite"


def test_everything_written_is_read_back_equal(path: Path) -> None:
    clock = HandClock(1000.0)
    event = Event("alert", "disk full: ü \x00 'quoted'", {"bytes": 5, "nested": [None, {"a": 1.5}]})
    with Journal(path, clock) as journal:
        journal.add_metrics(1, 128, {"loss": 0.1, "entropy": 3.0})
        clock.advance(5)
        journal.add_metrics(2, 256, {"loss": math.inf, "entropy": math.nan})
        journal.add_game(2, GAME)
        journal.add_event(2, event)
        journal.add_evaluation(2, EVALUATION)
        journal.add_rating(2, RATING)
    with JournalReader(path) as reader:
        assert reader.series("loss") == [(1, 128, 1000.0, 0.1), (2, 256, 1005.0, math.inf)]
        assert math.isnan(reader.series("entropy")[1].value)
        assert reader.games() == [(1, 2, 1005.0, GAME)]
        assert reader.events() == [(1, 2, 1005.0, event)]
        assert reader.evaluations() == [(1, 2, 1005.0, EVALUATION)]
        assert reader.ratings() == [(1, 2, 1005.0, RATING)]


def test_nothing_is_visible_before_the_commit_and_all_of_it_after(path: Path) -> None:
    with Journal(path) as journal, JournalReader(path) as reader:
        journal.add_metrics(1, 10, {"loss": 1.0})
        journal.add_game(1, GAME)
        assert (reader.metric_names(), reader.games()) == ([], [])
        journal.commit()
        assert (reader.metric_names(), len(reader.games())) == (["loss"], 1)


def test_numbers_of_numpy_are_numbers(path: Path) -> None:
    with Journal(path) as journal:
        journal.add_metrics(np.int64(1), np.int32(7), {"loss": np.float32(0.5)})
    assert JournalReader(path).series("loss")[0][:2] == (1, 7)


def test_an_update_is_recorded_once(path: Path) -> None:
    with Journal(path) as journal:
        journal.add_metrics(5, 10, {"loss": 1.0})
        with pytest.raises(JournalError, match=r"after 5, got 5.*rewind"):
            journal.add_metrics(5, 10, {"loss": 2.0})
    with Journal(path) as journal, pytest.raises(JournalError, match="after 5, got 4"):
        journal.add_metrics(4, 10, {"loss": 2.0})
    assert [point.value for point in JournalReader(path).series("loss")] == [1.0]


def write_updates(journal: Journal, first: int, last: int) -> None:
    for update in range(first, last + 1):
        journal.add_metrics(update, update * 10, {"loss": 1 / update, "entropy": 2 / update})
        journal.add_game(update, GAME)
        journal.add_evaluation(update, EVALUATION)
        journal.add_event(update, Event("note", f"update {update}"))
        journal.commit()


def test_a_rewind_forgets_later_updates_keeps_events_and_becomes_one(path: Path) -> None:
    with Journal(path) as journal:
        write_updates(journal, 1, 9)
    with Journal(path) as journal:
        assert journal.rewind(6) == 3 * (2 + 1 + 1)
        write_updates(journal, 7, 8)
    reader = JournalReader(path)
    for name in ("loss", "entropy"):
        assert [point.update for point in reader.series(name)] == list(range(1, 9))
    assert [entry.update for entry in reader.games()] == list(range(1, 9))
    assert [entry.update for entry in reader.evaluations()] == list(range(1, 9))
    kinds = [(entry.content.kind, entry.update) for entry in reader.events()]
    assert kinds == [("note", n) for n in range(1, 10)] + [("resumed", 6), ("note", 7), ("note", 8)]
    assert reader.events()[9].content.details == {"removed_rows": 12}


def test_a_rewind_to_where_the_journal_ends_removes_nothing(path: Path) -> None:
    with Journal(path) as journal:
        write_updates(journal, 1, 3)
        assert journal.rewind(3) == 0
        assert journal.rewind(50) == 0
        write_updates(journal, 4, 4)
    assert [point.update for point in JournalReader(path).series("loss")] == [1, 2, 3, 4]


def test_a_failed_commit_for_a_bad_row_does_not_poison_the_next(path: Path) -> None:
    with Journal(path) as journal:
        journal.add_metrics(1, 10, {"loss": 1.0})
        journal.add_game(1, Game("a", "b", object(), (), None, "repetition"))  # type: ignore[arg-type]
        with pytest.raises(JournalError, match=r"journal\.sqlite"):
            journal.commit()
        journal.add_metrics(2, 20, {"loss": 0.5})
    assert [point.update for point in JournalReader(path).series("loss")] == [2]


def test_an_event_with_bytes_that_are_no_text_is_recorded(path: Path) -> None:
    with Journal(path) as journal:
        journal.add_event(1, Event("alert", "cannot read '\udcff'", {"path": Path("x")}))
    content = JournalReader(path).events()[0].content
    assert content == Event("alert", "cannot read '\\udcff'", {"path": "x"})


def test_a_closed_journal_is_one_file(path: Path) -> None:
    with Journal(path) as journal:
        write_updates(journal, 1, 3)
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_no_disk_space_raises_keeps_the_file_whole_and_the_rows_go_in_later(path: Path, start_python) -> None:
    output, errors = start_python(WRITE_UNDER_A_LIMIT, path).communicate()
    assert errors == ""
    assert len(output.splitlines()) == 2
    assert all("cannot write to the journal" in line and "disk space" in line for line in output.splitlines())
    reader = JournalReader(path)
    assert [point.update for point in reader.series("loss")] == [1, 2, 3, 4]
    assert len(reader.games()) == 40


def contents_are_whole(path: Path) -> int:
    """Check every update for completeness and return the newest."""
    with JournalReader(path) as reader, reader.snapshot():
        updates = [point.update for point in reader.series("metric 0")]
        for i in range(1, METRICS_PER_UPDATE):
            assert [(p.update, p.value) for p in reader.series(f"metric {i}")] == [
                (u, u + i) for u in updates
            ]
        games = [entry.update for entry in reader.games()]
    assert updates == list(range(1, len(updates) + 1))
    assert games == [update for update in updates for _ in range(GAMES_PER_UPDATE)]
    return len(updates)


def test_kill_9_at_20_moments_leaves_whole_updates_without_duplicates(path: Path, start_python) -> None:
    moments = random.Random(20)
    resume_from = 0
    for _ in range(20):
        writer = start_python(WRITE_UNTIL_KILLED, path, resume_from + 1)
        for _ in range(moments.randint(1, 40)):
            acknowledged = int(writer.stdout.readline())
            if moments.random() < 0.1:
                contents_are_whole(path)  # a viewer reads while the trainer writes
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        newest = contents_are_whole(path)
        assert newest >= acknowledged
        resume_from = moments.randint(
            max(newest - 5, 0), newest
        )  # the checkpoint may be older than the journal
    assert sqlite3.connect(path).execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"this is no database" * 500, "is damaged: move it away"),
        (None, "check the path and its permissions"),
    ],
)
def test_a_file_that_is_no_journal_is_a_clear_error(path: Path, content: bytes | None, words: str) -> None:
    path.mkdir() if content is None else path.write_bytes(content)
    with pytest.raises(JournalError, match=words) as caught:
        Journal(path)
    assert str(path) in str(caught.value)


def test_another_programs_database_is_left_alone(path: Path) -> None:
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE recipes (name TEXT)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(JournalError, match=r"no journal.*recipes"):
        Journal(path)
    assert path.read_bytes() == before


def test_a_newer_journal_is_refused_and_left_alone(path: Path) -> None:
    Journal(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE schema_version SET version = 7")
    connection.close()
    before = path.read_bytes()
    for opener in (Journal, JournalReader):
        with pytest.raises(JournalError, match=r"version 7.*up to 1.*upgrade"):
            opener(path)
    assert path.read_bytes() == before


def test_the_metrics_can_be_read_with_plain_sql(path: Path) -> None:
    with Journal(path, HandClock(5.0)) as journal:
        journal.add_metrics(1, 64, {"loss": 0.5})
    rows = (
        sqlite3.connect(path)
        .execute("SELECT update_number, plies, time, name, value FROM metrics")
        .fetchall()
    )
    assert json.dumps(rows) == '[[1, 64, 5.0, "loss", 0.5]]'


# ---- ratings


def test_a_rating_of_which_nothing_is_known_is_kept(path: Path) -> None:
    with Journal(path) as journal:
        journal.add_rating(1, PlayerRating("new", math.nan, -math.inf, math.inf, 0))
    with JournalReader(path) as reader:
        ((_, _, _, rating),) = reader.ratings()
    assert math.isnan(rating.elo)
    assert (rating.low, rating.high) == (-math.inf, math.inf)


def test_a_rewind_forgets_ratings_of_later_updates(path: Path) -> None:
    with Journal(path) as journal:
        for update in (1, 2, 3):
            journal.add_rating(update, RATING)
        journal.commit()
        journal.rewind(2)
    with JournalReader(path) as reader:
        assert [entry.update for entry in reader.ratings()] == [1, 2]


def test_a_journal_from_before_there_were_ratings_is_read_and_goes_on(path: Path) -> None:
    with Journal(path) as journal:
        journal.add_evaluation(1, EVALUATION)
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE ratings")
    with JournalReader(path) as reader:
        assert reader.ratings() == []
        assert len(reader.evaluations()) == 1
    with Journal(path) as journal:
        journal.add_rating(1, RATING)
    with JournalReader(path) as reader:
        assert [entry.content for entry in reader.ratings()] == [RATING]


def test_ratings_are_added_beside_a_trainer_at_work(path: Path) -> None:
    with Journal(path) as trainer, Journal(path) as ladder:
        trainer.add_metrics(1, 10, {"loss": 1.0})
        trainer.commit()
        ladder.add_rating(1, RATING)
        ladder.commit()
        trainer.add_metrics(2, 20, {"loss": 0.5})
        trainer.commit()
    with JournalReader(path) as reader:
        assert len(reader.series("loss")) == 2
        assert len(reader.ratings()) == 1
