"""The loop: what happens when, exactly once, and counted by one owner."""

import inspect
import time
from pathlib import Path

import pytest
from tiny_runs import PLIES, ROWS, Listener, content_hash, latest, new_run, tiny_config, train

from keisei.core.checkpoint import CheckpointFolder
from keisei.record.journal_reader import JournalReader
from keisei.record.run_directory import RunDirectory
from keisei.shogi import ShogiGame
from keisei.training.events import (
    CheckpointSaved,
    EvaluationFinished,
    TrainingEvent,
    TrainingFinished,
    TrainingStarted,
    UpdateFinished,
)
from keisei.training.run_view import RunView
from keisei.training.trainer import Trainer
from keisei.training.training_loop_manager import TrainingLoopManager


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return new_run(tmp_path)


def snapshots(run: RunDirectory) -> list[int]:
    """The versions of the frozen opponents in the newest checkpoint."""
    names = latest(run).tensors.get("opponents", {})
    return sorted({int(name.partition("/")[0]) for name in names})


# ---- intervals


def test_b1_b12_what_is_due_at_an_update_happens_there_and_once(run: RunDirectory) -> None:
    listener = Listener()
    config = tiny_config(
        8,
        training__checkpoint_interval_updates=3,
        training__keep_last=100,
        training__opponents__snapshot_interval_updates=2,
        evaluation__opponents=["random"],
        evaluation__games=2,
        evaluation__interval_updates=4,
    )
    train(run, config, listener)
    assert listener.updates_of(UpdateFinished) == [1, 2, 3, 4, 5, 6, 7, 8]
    # The beginning and the end are always saved; in between every third update, and what is to be measured.
    assert listener.updates_of(CheckpointSaved) == [0, 3, 4, 6, 8]
    # The end is measured once, also where an interval ends there.
    assert listener.updates_of(EvaluationFinished) == [4, 8]
    assert snapshots(run) == [2, 4, 6, 8]


def test_b1_b12_a_checkpoint_due_at_the_last_update_is_written_once(run: RunDirectory) -> None:
    listener = Listener()
    train(run, tiny_config(6, training__checkpoint_interval_updates=3), listener)
    assert listener.updates_of(CheckpointSaved) == [0, 3, 6]


def test_b1_b12_the_plies_have_one_owner_and_grow_by_one_rollout_an_update(run: RunDirectory) -> None:
    listener = Listener()
    report = train(run, tiny_config(4), listener)
    assert [event.plies for event in listener.of(UpdateFinished)] == [ROWS, 2 * ROWS, 3 * ROWS, 4 * ROWS]
    assert report.plies == latest(run).manifest.plies == latest(run).state["metrics"]["plies"] == 4 * ROWS
    with JournalReader(run.journal_path) as journal:
        assert [point.plies for point in journal.series("loss")] == [ROWS, 2 * ROWS, 3 * ROWS, 4 * ROWS]


def test_b1_b12_intervals_count_from_the_beginning_of_the_run_not_of_the_process(run: RunDirectory) -> None:
    config = tiny_config(8, training__checkpoint_interval_updates=3, training__keep_last=100)
    train(run, config, stop_after=4)
    listener = Listener()
    train(run, config, listener, resume=True)
    assert listener.updates_of(TrainingStarted) == [4]
    assert listener.updates_of(CheckpointSaved) == [6, 8]
    assert snapshots(run) == [2, 4, 6, 8]


def test_b1_b12_an_interval_of_one_is_due_at_every_update(run: RunDirectory) -> None:
    listener = Listener()
    config = tiny_config(
        2, evaluation__opponents=["random"], evaluation__games=2, evaluation__interval_updates=1
    )
    train(run, config, listener)
    assert listener.updates_of(EvaluationFinished) == [1, 2]
    assert listener.updates_of(CheckpointSaved) == [0, 1, 2]


def test_b3_nothing_is_due_at_update_zero(run: RunDirectory) -> None:
    listener = Listener()
    config = tiny_config(
        1,
        training__opponents__snapshot_interval_updates=1,
        evaluation__opponents=["random"],
        evaluation__games=2,
        evaluation__interval_updates=5,
    )
    train(run, config, listener)
    assert listener.updates_of(EvaluationFinished) == [1], "only the end is measured"
    first = CheckpointFolder(run.checkpoints_path).paths()[0]
    assert first.name == "update-00000000"
    assert not (first / "opponents.safetensors").exists(), "no opponent was frozen before the first update"


def test_b3_an_interval_of_zero_never_falls_due(run: RunDirectory) -> None:
    listener = Listener()
    train(run, tiny_config(4, training__checkpoint_interval_updates=0), listener)
    assert listener.updates_of(CheckpointSaved) == [0, 4]


def test_checkpoints_can_be_due_by_time(run: RunDirectory) -> None:
    listener = Listener()
    config = tiny_config(
        3, training__checkpoint_interval_updates=0, training__checkpoint_interval_seconds=1e-6
    )
    train(run, config, listener)
    assert listener.updates_of(CheckpointSaved) == [0, 1, 2, 3]


def test_no_opponents_are_frozen_when_nobody_plays_against_them(run: RunDirectory) -> None:
    train(run, tiny_config(2, training__opponents__share=0))
    assert snapshots(run) == []


# ---- figures


def test_b2_every_result_is_counted_once(run: RunDirectory) -> None:
    listener = Listener()
    config = tiny_config(8, record__games_kept_per_update=1000)
    report = train(run, config, listener)
    updates = listener.of(UpdateFinished)
    finished = [update.metrics.get("games_finished", 0) for update in updates]
    with JournalReader(run.journal_path) as journal:
        kept = journal.games()
    counted = sum(count for _, _, count in latest(run).state["metrics"]["results"])
    assert report.games == sum(finished) == updates[-1].metrics["games"] == counted == len(kept) > 10


def test_b2_results_are_counted_once_across_a_resume(tmp_path: Path) -> None:
    whole, parts = new_run(tmp_path, "whole"), new_run(tmp_path, "parts")
    config = tiny_config(6)
    expected = train(whole, config)
    train(parts, config, stop_after=3)
    found = train(parts, config, resume=True)
    assert found.games == expected.games > 0
    assert latest(parts).state["metrics"]["results"] == latest(whole).state["metrics"]["results"]


def test_kept_games_can_be_replayed_to_the_result_that_was_recorded(run: RunDirectory) -> None:
    train(run, tiny_config(6))
    with JournalReader(run.journal_path) as journal:
        games = [entry.content for entry in journal.games()]
    for kept in games:
        game = ShogiGame(kept.start_sfen, max_plies=24)
        for move in kept.moves:
            game.play(move)
        assert game.outcome is not None
        assert game.outcome.reason.value == kept.reason
        winner = game.outcome.winner
        assert (None if winner is None else winner.name.lower()) == kept.winner
    assert {kept.winner for kept in games} == {"black", "white", None}


def test_b11_speed_is_plies_by_seconds(run: RunDirectory) -> None:
    listener = Listener()
    moments: list[float] = []

    def note(event: TrainingEvent) -> None:
        if isinstance(event, TrainingStarted | UpdateFinished):
            moments.append(time.monotonic())

    train(run, tiny_config(12), listener, note)
    shown = listener.of(UpdateFinished)[-1].metrics["plies_per_second"]
    measured = 12 * ROWS / (moments[-1] - moments[0])
    assert shown == pytest.approx(measured, rel=0.35)


def test_b13_one_display_is_fed_for_every_mode() -> None:
    """Serial and parallel collection share the loop and its view, and only the view feeds the console."""
    view, loop = inspect.getsource(RunView), inspect.getsource(TrainingLoopManager)
    assert view.count("console.offer(") == view.count("console.show(") == 1
    assert "console.offer(" not in loop and "console.show(" not in loop
    assert "num_workers" not in view + loop


def test_phase_times_sum_to_wall_time(run: RunDirectory) -> None:
    listener = Listener()
    moments: list[float] = []

    def note(event: TrainingEvent) -> None:
        if isinstance(event, UpdateFinished):
            moments.append(time.monotonic())

    train(run, tiny_config(10), listener, note)
    laps = [
        sum(value for name, value in update.metrics.items() if name.startswith("seconds_"))
        for update in listener.of(UpdateFinished)
    ]
    # A lap ends before its update is recorded, so a lap and the time between two events differ at their ends.
    assert sum(laps[1:]) == pytest.approx(moments[-1] - moments[0], rel=0.15)
    phases = {name for update in listener.of(UpdateFinished) for name in update.metrics if "seconds_" in name}
    assert {"seconds_collect", "seconds_learn", "seconds_record", "seconds_checkpoint"} <= phases


def test_rows_are_played_by_the_newest_weights_in_a_serial_run(run: RunDirectory) -> None:
    listener = Listener()
    train(run, tiny_config(3), listener)
    assert [update.metrics["policy_lag"] for update in listener.of(UpdateFinished)] == [0, 0, 0]
    deviations = [update.metrics["first_ratio_deviation"] for update in listener.of(UpdateFinished)]
    assert max(deviations) <= 1e-6


def test_schedules_follow_the_plies_to_their_ends(run: RunDirectory) -> None:
    listener = Listener()
    train(run, tiny_config(4, training__learning_rate=1e-3, training__learning_rate_end=1e-4), listener)
    rates = [update.metrics["learning_rate"] for update in listener.of(UpdateFinished)]
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] == pytest.approx(1e-4)
    assert 1e-4 < rates[0] < 1e-3


@pytest.mark.parametrize(("follow", "limit_seconds"), [("plies", 0.5), ("limits", 0.0), ("limits", 3600.0)])
def test_schedules_follow_the_plies_where_the_time_has_no_say(
    run: RunDirectory, follow: str, limit_seconds: float
) -> None:
    listener, updates = Listener(), 4 if follow == "limits" else 100_000
    settings = {"training__schedules_follow": follow, "training__time_limit_seconds": limit_seconds}
    rate = {"training__learning_rate": 1e-3, "training__learning_rate_end": 0.0}
    train(run, tiny_config(updates, **settings, **rate), listener)
    rates = [update.metrics["learning_rate"] for update in listener.of(UpdateFinished)]
    shares = [update.update / updates for update in listener.of(UpdateFinished)]
    assert rates == pytest.approx([1e-3 * (1 - share) for share in shares])


def test_schedules_that_follow_limits_end_with_the_time(run: RunDirectory) -> None:
    listener, limit_seconds = Listener(), 1.5
    moments: list[float] = []

    def note(event: TrainingEvent) -> None:
        if isinstance(event, UpdateFinished):
            moments.append(time.monotonic())

    settings = {"training__schedules_follow": "limits", "training__time_limit_seconds": limit_seconds}
    rate = {"training__learning_rate": 1e-3, "training__learning_rate_end": 0.0}
    train(run, tiny_config(100_000, **settings, **rate), listener, note)
    rates = [update.metrics["learning_rate"] for update in listener.of(UpdateFinished)]
    passed = [moment - moments[0] for moment in moments]
    for found, at_least in zip(rates[1:], passed, strict=False):
        assert found <= 1e-3 * (1 - min(1.0, at_least / limit_seconds))
    assert rates[-1] < 0.5e-3


# ---- endings


def test_the_time_limit_ends_a_run_after_the_update_in_progress(run: RunDirectory) -> None:
    report = train(run, tiny_config(100_000, training__time_limit_seconds=0.3))
    assert report.reason == "the time limit of 0 s is reached"
    assert 0 < report.update < 100_000
    assert latest(run).manifest.update == report.update


def test_the_time_limit_counts_the_time_before_a_resume(run: RunDirectory) -> None:
    config = tiny_config(100_000, training__time_limit_seconds=0.8)
    first = train(run, config)
    second = train(run, config, resume=True)
    # What came after the last figures were taken (its own checkpoint) is not in them: room for an update or two.
    assert second.update - first.update <= max(2, first.update / 2)


@pytest.mark.parametrize("calls", [0, 1, PLIES // 2, PLIES + 1, PLIES + 3, 3 * PLIES])
def test_a_stop_at_any_moment_leaves_a_checkpoint_of_the_last_finished_update(
    run: RunDirectory, calls: int
) -> None:
    """The question is asked before each ply and after each gradient step; the answer may be yes at any of them."""
    remaining = iter([False] * calls)
    listener = Listener()
    trainer = Trainer(tiny_config(50), run, should_stop=lambda: next(remaining, True), callbacks=[listener])
    report = trainer.train()
    assert report.reason == "stopped by the user"
    assert latest(run).manifest.update == report.update == len(listener.of(UpdateFinished))
    assert listener.of(TrainingFinished)[0].reason == report.reason


def test_a_stop_within_a_rollout_costs_no_exactness(tmp_path: Path) -> None:
    """The games moved on, but what is saved are the games of the last update: they fit its weights."""
    config = tiny_config(3, training__checkpoint_interval_updates=0)
    whole, stopped = new_run(tmp_path, "whole"), new_run(tmp_path, "stopped")
    train(whole, config)
    listener = Listener()
    asked_since = 0

    def should_stop() -> bool:
        nonlocal asked_since
        asked_since = asked_since + 1 if listener.of(UpdateFinished) else 0
        return asked_since > PLIES // 2

    Trainer(config, stopped, should_stop=should_stop, callbacks=[listener]).train()
    assert latest(stopped).manifest.update == 1
    train(stopped, config, resume=True)
    assert content_hash(latest(stopped)) == content_hash(latest(whole))


# ---- for viewers


def test_the_journal_tells_viewers_what_is_going_on(run: RunDirectory) -> None:
    standard = {"env__starts__standard": 1, "env__starts__sfens": 0, "env__starts__sfen_file": None}
    train(run, tiny_config(4, env__starts__earlier=0, **standard))
    with JournalReader(run.journal_path) as journal:
        plies = journal.watched_plies()
        (watched,) = [entry for entry in journal.games() if journal.thoughts(entry.row)]
        workers, evaluation = journal.state("workers"), journal.state("evaluation")
        endings = {name: journal.latest()[name].value for name in journal.metric_names() if "ended_" in name}
        assert journal.latest()["seconds_watch"].value >= 0
    assert [entry.content.move for entry in plies][: len(watched.content.moves)] == list(
        watched.content.moves
    )
    assert workers is not None
    assert workers.content == {"rows_by_lag": {"0": 4 * ROWS}}
    assert evaluation is not None
    assert evaluation.content == {"measuring": []}
    assert sum(endings.values()) == pytest.approx(1)


# ---- one loop


def test_t2_there_is_one_way_to_run() -> None:
    public = [
        name for name, _ in inspect.getmembers(TrainingLoopManager, callable) if not name.startswith("_")
    ]
    assert public == ["evaluate", "run"]
    assert not any(
        inspect.iscoroutinefunction(method) for _, method in inspect.getmembers(TrainingLoopManager)
    )
