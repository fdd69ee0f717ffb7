import time
from pathlib import Path
from random import Random

import pytest
from recorded_runs import metrics_of, record_run

from keisei.record.journal import Journal
from keisei.record.run_directory import RunDirectory
from keisei.web.run_feed import RunFeed
from keisei.web.run_header import SILENT_SECONDS, header_figures, health, span


def feed_of(run: RunDirectory) -> RunFeed:
    feed = RunFeed(run)
    feed.look()
    return feed


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (-5, "0 s"), (59, "59 s"), (61, "1 min 1 s"), (7200, "2 h"), (90_061, "1 d 1 h")],
)
def test_span(seconds: float, words: str) -> None:
    assert span(seconds) == words


def test_figures_of_a_run_at_rest(tmp_path: Path) -> None:
    figures = header_figures(feed_of(record_run(tmp_path, "quiet-lance", updates=100, games=1)))
    assert figures["state"] == "at rest"
    assert figures["plies"] == "819,200"
    assert figures["done"] == "20.5%"
    assert figures["time left"] == "–"


def test_figures_while_a_trainer_holds_the_folder(tmp_path: Path) -> None:
    run = record_run(tmp_path, "quiet-lance", updates=1, games=1)
    with run.lock():
        figures = header_figures(feed_of(run))
    assert figures["state"].startswith("training")
    assert figures["time left"].endswith(("s", "min"))
    assert figures["memory"].endswith("GiB")


@pytest.mark.parametrize(("folder", "words"), [("update-00001234", "update 1,234"), ("mine", "mine")])
def test_the_last_checkpoint_is_named_shortly(tmp_path: Path, folder: str, words: str) -> None:
    run = record_run(tmp_path, "quiet-lance", updates=1, games=1)
    (run.checkpoints_path / folder).mkdir()
    (run.checkpoints_path / folder / "manifest.json").write_text("{}")
    assert header_figures(feed_of(run))["last checkpoint"] == words


def test_time_limit_counts_the_phases_of_all_updates(tmp_path: Path) -> None:
    run = record_run(tmp_path, "short", updates=5, games=1)
    run.write_config("training: {total_plies: 1000000000, time_limit_seconds: 110.0}")
    with run.lock():
        figures = header_figures(feed_of(run))
    assert figures["time left"] == "1 min"
    assert figures["time goes to"] == "collect 75%"


def test_figures_of_a_run_that_has_just_begun(tmp_path: Path) -> None:
    feed = feed_of(RunDirectory.create(tmp_path, "fresh"))
    assert header_figures(feed)["update"] == "–"
    assert health(feed).words == "no update has ended yet"


def test_silent_trainer_is_noticed(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path, "silent")
    with Journal(run.journal_path, clock=lambda: time.time() - 2 * SILENT_SECONDS) as journal:
        journal.add_metrics(1, 1, {"entropy": 2.0})
    assert health(feed_of(run)).level == "good"
    with run.lock():
        assert health(feed_of(run)).level == "warning"


def test_health_speaks_of_the_last_update(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path, "flat")
    with Journal(run.journal_path) as journal:
        journal.add_metrics(1, 1, {"entropy": 0.01})
    assert "explores" in health(feed_of(run)).words
    with Journal(run.journal_path) as journal:
        journal.add_metrics(2, 2, metrics_of(2, Random(2)))
    assert health(feed_of(run)).level == "good"


def test_damaged_journal_is_bad(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path, "damaged")
    run.journal_path.write_bytes(b"x" * 5000)
    assert health(feed_of(run)).level == "bad"
