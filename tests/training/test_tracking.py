"""Trackers of real runs: they get what the journal gets, and whatever becomes of them, the run does not care."""

import os
import signal
from pathlib import Path

import psutil
import pytest
from process_watch import children_with, is_gone, wait_until
from tiny_runs import new_run, tiny_config, train
from tracked_runs import black_hole, tensorboard_scalars, wandb_history, wandb_records

from keisei.errors import PackageMissingError
from keisei.record.journal_reader import JournalReader
from keisei.record.run_directory import RunDirectory
from keisei.training.events import TrainingEvent, UpdateFinished

CHILD = "keisei.record.trackers.child"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunDirectory:
    for name in ("CACHE_DIR", "CONFIG_DIR", "DATA_DIR"):
        monkeypatch.setenv(f"WANDB_{name}", str(tmp_path / "own"))
    return new_run(tmp_path)


def journal_series(run: RunDirectory, name: str) -> list[tuple[int, float]]:
    with JournalReader(run.journal_path) as journal:
        return [(point.update, point.value) for point in journal.series(name)]


def assert_equal(ours: list[tuple[int, float]], theirs: list[tuple[int, float]]) -> None:
    """The same steps and, but for TensorBoard's short floats, the same values."""
    assert [step for step, _ in ours] == [step for step, _ in theirs]
    assert [value for _, value in ours] == pytest.approx([value for _, value in theirs], rel=1e-5)


def tracker_events(run: RunDirectory) -> list[str]:
    with JournalReader(run.journal_path) as journal:
        return [entry.content.message for entry in journal.events() if entry.content.kind == "tracker"]


def test_trackers_have_what_the_journal_has_also_after_a_resume(run: RunDirectory) -> None:
    settings = {
        "record__trackers": ["tensorboard"],
        "evaluation__opponents": ["random"],
        "evaluation__games": 2,
    }
    train(run, tiny_config(3, **settings))
    train(run, tiny_config(5, **settings), resume=True)
    assert tracker_events(run) == []
    scalars = tensorboard_scalars(run.path)
    for name in ("loss", "entropy", "plies_per_second"):
        assert_equal(scalars[f"train/{name}"], journal_series(run, name))
    assert [step for step, _ in scalars["train/plies"]] == [1, 2, 3, 4, 5]
    with JournalReader(run.journal_path) as journal:
        scores = [(entry.update, entry.content.score) for entry in journal.evaluations()]
        lows = [(entry.update, entry.content.low) for entry in journal.evaluations()]
    assert_equal(scalars["score/random"], scores)
    assert_equal(scalars["score/random_low"], lows)


def test_a_server_that_never_answers_costs_the_run_nothing(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WANDB_MODE", raising=False)
    monkeypatch.setenv("WANDB_API_KEY", "a" * 40)
    with black_hole() as address:
        monkeypatch.setenv("WANDB_BASE_URL", address)
        train(run, tiny_config(3, record__trackers=["wandb"], record__tracker_finish_seconds=0))
    assert [update for update, _ in journal_series(run, "loss")] == [1, 2, 3]
    ended, *unsent = tracker_events(run)
    assert "had not finished" in ended
    # Whether the last messages leave before the end of the child is chance.
    assert all("did not reach the trackers" in message for message in unsent)
    assert not own_children(), "the child is gone"


def own_children() -> list[psutil.Process]:
    return children_with(CHILD)


def test_a_tracker_that_is_killed_is_replaced_while_the_run_goes_on(run: RunDirectory) -> None:
    def kill(event: TrainingEvent) -> None:
        if isinstance(event, UpdateFinished) and event.update == 2:
            (child,) = own_children()
            os.kill(child.pid, signal.SIGKILL)
            wait_until(lambda: is_gone(child.pid), "the end of the child")

    train(run, tiny_config(5, record__trackers=["tensorboard"]), kill)
    assert [update for update, _ in journal_series(run, "loss")] == [1, 2, 3, 4, 5]
    assert tracker_events(run) == ["the trackers' process ended (signal SIGKILL) and was started anew"]
    assert [step for step, _ in tensorboard_scalars(run.path)["train/loss"]][-3:] == [3, 4, 5]


def test_a_run_that_fails_is_finished_as_failed_with_all_that_it_had(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")

    def fail(event: TrainingEvent) -> None:
        if isinstance(event, UpdateFinished) and event.update == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(run, tiny_config(5, record__trackers=["wandb"]), fail)
    (file,) = run.path.glob("wandb/offline-run-*/*.wandb")
    records = wandb_records(file)
    assert [record.exit.exit_code for record in records if record.HasField("exit")] == [1]
    losses = [(row["update"], row["train/loss"]) for row in wandb_history(records)]
    assert losses == journal_series(run, "loss")[: len(losses)]
    assert len(losses) >= 2
    (artifact,) = [record.artifact for record in records if record.HasField("artifact")]
    assert {entry.path for entry in artifact.manifest.contents} >= {"model.safetensors", "manifest.json"}


def test_a_run_that_cannot_start_its_trackers_goes_on_without_them(run: RunDirectory) -> None:
    (run.path / "trackers.log").mkdir()
    train(run, tiny_config(1, record__trackers=["tensorboard"]))
    assert [update for update, _ in journal_series(run, "loss")] == [1]
    (message,) = tracker_events(run)
    assert "cannot be started" in message
    assert "trackers.log" in message


def test_a_missing_package_stops_the_run_before_it_begins(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keisei.record.trackers.tracker.find_spec", lambda name: None)
    with pytest.raises(PackageMissingError, match=r"keisei\[tensorboard\]"):
        train(run, tiny_config(3, record__trackers=["tensorboard"]))
