import os
from pathlib import Path
from random import Random

import pytest
from hand_clock import HandClock
from recorded_runs import match_result, metrics_of, random_game, record_run

from keisei.record.journal import Event, Journal
from keisei.record.run_directory import RunDirectory
from keisei.web.run_feed import FACTS_SECONDS, LOOK_SECONDS, RunFeed


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return record_run(tmp_path, "quiet-lance", updates=4, games=2)


def test_feed_follows_the_writer(run: RunDirectory) -> None:
    clock = HandClock()
    feed = RunFeed(run, clock)
    first = feed.look()
    assert [point.update for point in feed.series("entropy")] == [1, 2, 3, 4]
    with Journal(run.journal_path) as journal:
        journal.add_metrics(5, 50, metrics_of(5, Random(5)))
        journal.add_game(5, random_game(9))
        journal.add_evaluation(5, match_result("ab2", 0.5))
        journal.add_event(5, Event("noted", "something"))
        journal.commit()
        assert feed.look() == first, "a second look at the same moment reads nothing"
        clock.advance(2 * LOOK_SECONDS)
        assert feed.look() > first
    assert [point.update for point in feed.series("entropy")] == [1, 2, 3, 4, 5]
    assert feed.games[-1].content == random_game(9)
    assert feed.evaluations[-1].content.opponent == "ab2"
    assert feed.events[-1].content.message == "something"
    assert feed.game(feed.games[0].row) == feed.games[0]
    assert feed.game(999) is None


def test_feed_forgets_what_a_rewind_removed(run: RunDirectory) -> None:
    clock = HandClock()
    feed = RunFeed(run, clock)
    feed.look()
    assert len(feed.series("entropy")) == 4
    with Journal(run.journal_path) as journal:
        journal.rewind(2)
        journal.add_metrics(3, 30, {"entropy": 9.0})
    clock.advance(2 * LOOK_SECONDS)
    feed.look()
    assert [point.value for point in feed.series("entropy")][2:] == [9.0]
    assert feed.newest_point() is not None
    assert feed.newest_point().update == 3  # type: ignore[union-attr]


def test_listeners_hear_of_every_change_once_and_of_nothing_else(run: RunDirectory) -> None:
    clock = HandClock()
    feed = RunFeed(run, clock)
    heard: list[int] = []
    feed.tell()
    assert feed.newest_point() is None, "nobody listens: nothing is read"
    feed.listeners.append(lambda: heard.append(feed.version))
    feed.tell()
    feed.tell()
    assert heard == [feed.version]
    with Journal(run.journal_path) as journal:
        journal.add_metrics(5, 50, metrics_of(5, Random(5)))
        journal.commit()
        clock.advance(2 * LOOK_SECONDS)
        feed.tell()
    assert len(heard) == 2
    assert feed.newest_point() is not None
    assert feed.newest_point().update == 5  # type: ignore[union-attr]


def test_a_series_is_one_list_that_grows_also_over_a_gap(run: RunDirectory) -> None:
    clock = HandClock()
    feed = RunFeed(run, clock)
    feed.look()
    entropy = feed.series("entropy")
    with Journal(run.journal_path) as journal:
        for update, metrics in ((5, {"entropy": 5.0}), (6, {"other": 6.0}), (7, {"entropy": 7.0})):
            journal.add_metrics(update, 10 * update, metrics)
            journal.commit()
            clock.advance(2 * LOOK_SECONDS)
            feed.look()
            assert feed.series("entropy") is entropy
    assert [point.update for point in entropy] == [1, 2, 3, 4, 5, 7]
    assert [point.value for point in entropy][4:] == [5.0, 7.0]


def test_nothing_new_changes_nothing(run: RunDirectory) -> None:
    clock = HandClock()
    feed = RunFeed(run, clock)
    version = feed.look()
    clock.advance(2 * LOOK_SECONDS)
    assert feed.look() == version


def test_run_without_a_journal_is_empty_until_there_is_one(tmp_path: Path) -> None:
    clock = HandClock()
    run = RunDirectory.create(tmp_path, "fresh")
    feed = RunFeed(run, clock)
    assert feed.look() == 0
    assert feed.newest_point() is None
    assert feed.series("entropy") == []
    with Journal(run.journal_path) as journal:
        journal.add_metrics(1, 10, {"entropy": 3.0})
    clock.advance(2 * LOOK_SECONDS)
    feed.look()
    assert feed.figure("entropy") == 3.0


def test_damaged_journal_is_a_problem_in_words(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path, "damaged")
    run.journal_path.write_bytes(b"this is no database" * 100)
    feed = RunFeed(run)
    feed.look()
    assert feed.problem is not None
    assert "journal" in feed.problem


def test_exchanged_journal_is_read_anew(run: RunDirectory) -> None:
    clock = HandClock()
    feed = RunFeed(run, clock)
    feed.look()
    run.journal_path.rename(run.path / "old.sqlite")
    with Journal(run.journal_path) as journal:
        journal.add_metrics(1, 10, {"entropy": 3.0})
    clock.advance(2 * LOOK_SECONDS)
    feed.look()
    assert list(feed.latest) == ["entropy"]


def test_facts_are_gathered_anew_after_a_while(run: RunDirectory) -> None:
    clock = HandClock()
    feed = RunFeed(run, clock)
    assert feed.facts.trainer_pid is None
    with run.lock():
        assert feed.facts.trainer_pid is None
        clock.advance(2 * FACTS_SECONDS)
        assert feed.facts.trainer_pid == os.getpid()
