"""What a report knows about a run."""

from pathlib import Path

from recorded_runs import PLIES_PER_UPDATE, record_run
from tiny_runs import new_run

from keisei.commands.report_facts import RunRecord, Setting, changed_settings
from keisei.record.journal import Event, Journal


def test_facts_come_from_the_journal_and_the_settings(tmp_path: Path) -> None:
    run = record_run(tmp_path, "quiet-lance", updates=20, games=4)
    record = RunRecord.read(run)
    assert (record.name, record.updates, record.plies) == ("quiet-lance", 20, 20 * PLIES_PER_UPDATE)
    assert record.games_played == 60 * 20
    assert record.seconds == 20 * 10.0
    assert len(record.games) == 4
    assert Setting("training.total_plies", "4000000", "700000") in (record.changed or ())
    assert record.state == "It is at rest."
    assert record.machine == {}


def test_the_machine_is_the_one_that_trained_last(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    with Journal(run.journal_path) as journal:
        for cores in ("2", "64"):
            journal.add_event(0, Event("started", "training on cpu", {"cores": cores}))
    assert RunRecord.read(run).machine == {"cores": "64"}


def test_a_run_that_has_not_begun_has_no_figures(tmp_path: Path) -> None:
    record = RunRecord.read(new_run(tmp_path))
    assert (record.updates, record.plies, record.games_played, record.seconds) == (0, 0, 0, 0.0)
    assert record.config_text == ""


def test_settings_of_another_keisei_are_no_error(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("training: {no_such_setting: 3}\n")
    assert changed_settings(file) is None
    file.write_text("training: {seed: 1}\n")
    assert changed_settings(file) == []
