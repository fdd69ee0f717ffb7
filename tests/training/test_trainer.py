"""Whole runs: the same seed gives the same bits, a resumed run goes on exactly, and bad luck loses nothing."""

import multiprocessing
import resource
import shutil
import time
from pathlib import Path

import pytest
import safetensors.numpy
import torch
from hostile_networks import CALLS_WITH_ROOM, LEARNS_NOTHING_FINITE, NEEDS_MORE_AND_MORE
from tiny_runs import COLLAPSING, Listener, content_hash, latest, new_run, tiny_config, train

from keisei.config_loader import load_config
from keisei.core.checkpoint import CheckpointFolder, load_checkpoint
from keisei.errors import (
    CheckpointError,
    DeviceMemoryError,
    NoGoodCheckpointError,
    NonFiniteUpdateError,
    RunDirectoryError,
)
from keisei.record.journal_reader import JournalReader
from keisei.record.run_directory import RunDirectory
from keisei.training.events import (
    CheckpointRated,
    CheckpointSaved,
    EvaluationFinished,
    LearningCollapsed,
    RolledBack,
    TrainingEvent,
    TrainingFinished,
    TrainingStarted,
    UpdateFinished,
)
from keisei.training.trainer import REPLAY_BUNDLE


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return new_run(tmp_path)


def damage(checkpoint: Path) -> None:
    model = checkpoint / "model.safetensors"
    data = bytearray(model.read_bytes())
    data[-1] ^= 1
    model.write_bytes(bytes(data))


def recorded_updates(run: RunDirectory) -> list[int]:
    with JournalReader(run.journal_path) as journal:
        return [point.update for point in journal.series("loss")]


def event_kinds(run: RunDirectory) -> list[str]:
    with JournalReader(run.journal_path) as journal:
        return [entry.content.kind for entry in journal.events()]


# ---- the course of a run


def test_a_run_leaves_everything_that_it_promises(run: RunDirectory) -> None:
    listener = Listener()
    report = train(run, tiny_config(4, evaluation__opponents=["random"], evaluation__games=4), listener)
    assert (report.run, report.update, report.plies) == (run.path, 4, 4 * 64)
    assert report.reason == "all 256 plies are played"
    assert report.scores["random"].games == 4
    assert load_config(run.config_path).config == tiny_config(
        4, evaluation__opponents=["random"], evaluation__games=4
    )
    assert recorded_updates(run) == [1, 2, 3, 4]
    with JournalReader(run.journal_path) as journal:
        (evaluation,) = journal.evaluations()
        assert len(journal.games()) > 0
    assert evaluation.content.opponent == "random"
    assert latest(run).manifest.update == 4
    assert run.trainer_pid is None, "the lock is released"


def test_events_come_in_the_order_of_things(run: RunDirectory) -> None:
    listener = Listener()
    train(run, tiny_config(2, evaluation__opponents=["random"], evaluation__games=2), listener)
    assert [type(event) for event in listener.events] == [
        TrainingStarted,
        CheckpointSaved,
        UpdateFinished,
        CheckpointSaved,
        UpdateFinished,
        CheckpointSaved,
        TrainingFinished,
        EvaluationFinished,
        CheckpointRated,
    ]
    assert all(event.path.is_dir() for event in listener.of(CheckpointSaved))


def test_the_time_of_the_last_measurement_is_not_charged_to_training(run: RunDirectory) -> None:
    ended: list[float] = []

    def listen(event: TrainingEvent) -> None:
        if isinstance(event, TrainingFinished):
            ended.append(time.monotonic())

    began = time.monotonic()
    report = train(run, tiny_config(1, evaluation__opponents=["random"], evaluation__games=100), listen)
    assert report.seconds <= ended[0] - began


def test_a_finished_run_can_be_resumed_and_has_nothing_left_to_do(run: RunDirectory) -> None:
    train(run, tiny_config(2))
    before = content_hash(latest(run))
    report = train(run, tiny_config(2), resume=True)
    assert report.update == 2
    assert content_hash(latest(run)) == before


# ---- seeds and resuming


def test_the_same_seed_gives_the_same_weights_and_another_seed_others(tmp_path: Path) -> None:
    hashes = []
    for name, seed in (("one", 1), ("same", 1), ("other", 2)):
        run = new_run(tmp_path, name)
        train(run, tiny_config(3, training__seed=seed))
        hashes.append(content_hash(latest(run)))
    assert hashes[0] == hashes[1] != hashes[2]


def test_a_stopped_and_resumed_run_equals_one_that_was_never_stopped(tmp_path: Path) -> None:
    """2N updates = N + stop + N, in every tensor and all state: weights, averages, optimiser, games, pool, RNG."""
    config = tiny_config(6)
    whole, parts = new_run(tmp_path, "whole"), new_run(tmp_path, "parts")
    train(whole, config)
    assert train(parts, config, stop_after=3).reason == "stopped by the user"
    assert latest(parts).manifest.update == 3
    torch.manual_seed(12345)  # whatever the process did in between
    train(parts, config, resume=True)
    checkpoints = [latest(run) for run in (whole, parts)]
    assert [checkpoint.manifest.update for checkpoint in checkpoints] == [6, 6]
    groups = {"model", "averaged", "opponents", "training"}
    assert all(set(checkpoint.tensors) == groups for checkpoint in checkpoints)
    assert content_hash(checkpoints[0]) == content_hash(checkpoints[1])


def test_a_run_that_lost_its_last_update_repeats_it_exactly(tmp_path: Path) -> None:
    """As after kill -9: the newest checkpoint is older than the journal, which is rewound to it."""
    config = tiny_config(4)
    whole, cut = new_run(tmp_path, "whole"), new_run(tmp_path, "cut")
    train(whole, config)
    train(cut, config)
    newest = CheckpointFolder(cut.checkpoints_path).paths()[-2:]
    for path in newest:
        shutil.rmtree(path)
    train(cut, config, resume=True)
    assert content_hash(latest(cut)) == content_hash(latest(whole))
    assert recorded_updates(cut) == [1, 2, 3, 4]
    assert "resumed" in event_kinds(cut)


def test_a_run_that_was_killed_before_its_first_checkpoint_begins_anew(tmp_path: Path) -> None:
    config = tiny_config(2)
    whole, never_begun = new_run(tmp_path, "whole"), new_run(tmp_path, "never begun".replace(" ", "-"))
    train(whole, config)
    train(never_begun, config, resume=True)
    assert content_hash(latest(never_begun)) == content_hash(latest(whole))


def test_a_run_that_is_stopped_in_its_first_update_can_go_on(tmp_path: Path) -> None:
    config = tiny_config(2)
    whole, stopped = new_run(tmp_path, "whole"), new_run(tmp_path, "stopped")
    train(whole, config)
    report = train(stopped, config, stop_after=0)
    assert (report.update, report.reason) == (0, "stopped by the user")
    assert latest(stopped).manifest.update == 0
    train(stopped, config, resume=True)
    assert content_hash(latest(stopped)) == content_hash(latest(whole))


def test_a_run_whose_checkpoints_were_deleted_does_not_begin_anew(run: RunDirectory) -> None:
    train(run, tiny_config(2))
    shutil.rmtree(run.checkpoints_path)
    with pytest.raises(NoGoodCheckpointError, match="no checkpoint"):
        train(run, tiny_config(4), resume=True)
    assert recorded_updates(run) == [1, 2], "its journal is left alone"


# ---- damage


def test_1c_a_damaged_newest_checkpoint_is_named_and_the_previous_one_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = tiny_config(4)
    whole, damaged = new_run(tmp_path, "whole"), new_run(tmp_path, "damaged")
    train(whole, config)
    train(damaged, config, stop_after=3)
    newest = latest(damaged).path
    damage(newest)
    train(damaged, config, resume=True)
    assert f"skipped a damaged checkpoint: {newest}" in caplog.text
    assert "checkpoint_skipped" in event_kinds(damaged)
    assert content_hash(latest(damaged)) == content_hash(latest(whole))
    load_checkpoint(newest)  # it was written again, whole


def test_1c_nothing_good_left_is_an_error_that_names_every_file(run: RunDirectory) -> None:
    train(run, tiny_config(2))
    paths = CheckpointFolder(run.checkpoints_path).paths()
    for path in paths:
        damage(path)
    with pytest.raises(NoGoodCheckpointError) as caught:
        train(run, tiny_config(4), resume=True)
    assert all(str(path) in str(caught.value) for path in paths)
    assert recorded_updates(run) == [1, 2]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model__channels": 16}, "channels is 8 but 16 is wanted"),
        ({"model__architecture": "resnet"}, "architecture is 'cnn' but 'resnet' is wanted"),
        ({"model__auxiliary_heads": False}, "auxiliary_heads is True but False is wanted"),
        ({"env__actions": "13527"}, "num_actions is 2187 but 13527 is wanted"),
        # The same layers under another name: every tensor fits, and still it is another network.
        ({"model__architecture": "hostile_networks:same_layers"}, "'hostile_networks:same_layers' is wanted"),
    ],
)
def test_g5_a_checkpoint_of_another_architecture_is_refused(
    run: RunDirectory, changes: dict[str, object], words: str
) -> None:
    train(run, tiny_config(2))
    before, config_text = content_hash(latest(run)), run.config_path.read_text()
    with pytest.raises(CheckpointError, match="architecture") as caught:
        train(run, tiny_config(4, **changes), resume=True)
    assert words in str(caught.value)
    assert str(latest(run).path) in str(caught.value)
    assert content_hash(latest(run)) == before
    assert run.config_path.read_text() == config_text, "a refused resume changes nothing"


def test_a_run_goes_on_with_another_number_of_games_which_begin_anew(
    run: RunDirectory, caplog: pytest.LogCaptureFixture
) -> None:
    train(run, tiny_config(2))
    train(run, tiny_config(4, env__num_games=4), resume=True)
    assert "the checkpoint holds 8 games, this run has 4: new games begin" in caplog.text
    assert latest(run).state["metrics"]["updates"] > 2


def test_a_second_trainer_in_the_folder_is_refused(run: RunDirectory) -> None:
    with run.lock(), pytest.raises(RunDirectoryError, match=r"another trainer, pid \d+"):
        train(run, tiny_config(1))


# ---- measurements beside training

PROCESS_START_SECONDS = 0.25


def seconds_by_phase(run: RunDirectory) -> dict[str, float]:
    with JournalReader(run.journal_path) as journal:
        phases = [name for name in journal.metric_names() if name.startswith("seconds_")]
        return {name: sum(point.value for point in journal.series(name)) for name in phases}


def test_measurements_beside_training_change_nothing_and_hold_it_up_for_less_than_one_percent(
    tmp_path: Path,
) -> None:
    plain, measured = new_run(tmp_path, "plain"), new_run(tmp_path, "measured")
    train(plain, tiny_config(36))
    listener = Listener()
    evaluation = {"evaluation__opponents": ["random"], "evaluation__games": 2}
    train(measured, tiny_config(36, evaluation__interval_updates=16, **evaluation), listener)
    assert content_hash(latest(measured)) == content_hash(latest(plain))
    found = listener.of(EvaluationFinished)
    assert {event.update for event in found} <= {16, 32, 36}
    assert {16, 36} <= {event.update for event in found}
    assert all(event.plies == 64 * event.update for event in found)
    assert listener.updates_of(CheckpointRated) == [event.update for event in found]
    seconds = seconds_by_phase(measured)
    # Besides, a process is started, which a busy machine can hold up.
    assert 0 < seconds["seconds_evaluate"] <= 0.01 * sum(seconds.values()) + PROCESS_START_SECONDS


def test_a_stopped_run_leaves_no_evaluator_behind(run: RunDirectory) -> None:
    config = tiny_config(
        9, evaluation__opponents=["random"], evaluation__games=2, evaluation__interval_updates=1
    )
    seen: list[str] = []

    def note(event: TrainingEvent) -> None:
        seen.extend(child.name for child in multiprocessing.active_children())

    report = train(run, config, note, stop_after=3)
    assert report.reason == "stopped by the user"
    assert "keisei-evaluator" in seen
    assert "keisei-evaluator" not in [child.name for child in multiprocessing.active_children()]


# ---- a collapse


def test_a_collapse_is_said_and_by_default_that_is_all(
    run: RunDirectory, caplog: pytest.LogCaptureFixture
) -> None:
    listener = Listener()
    report = train(run, tiny_config(12, **COLLAPSING), listener)
    said = [event.words for event in listener.of(LearningCollapsed)]
    expected = "learning has collapsed, for 3 updates in a row: the policy hardly explores"
    assert any(words.startswith(expected) for words in said)
    assert all(words in caplog.text for words in said)
    assert "collapse" in event_kinds(run)
    assert report.update == 12
    assert listener.of(RolledBack) == []


def test_a_collapsed_run_goes_back_learns_more_slowly_and_ends_when_that_does_not_help(
    run: RunDirectory,
) -> None:
    listener = Listener()
    config = tiny_config(100, **COLLAPSING, training__guard__max_rollbacks=1, training__keep_last=1)
    report = train(run, config, listener)
    (back,) = listener.of(RolledBack)
    first, last = listener.of(LearningCollapsed)
    assert back.update < first.update
    assert report.reason == f"{last.words}; going back did not help (1 times)"
    rates = [event.metrics["learning_rate"] for event in listener.of(UpdateFinished)]
    assert rates == [1.0] * first.update + [0.5] * (report.update - back.update)
    assert recorded_updates(run) == list(range(1, report.update + 1))
    kinds = [kind for kind in event_kinds(run) if kind in ("collapse", "resumed", "rolled_back")]
    assert kinds == ["collapse", "resumed", "rolled_back", "collapse"]
    assert latest(run).manifest.update == report.update
    resumed = Listener()
    train(run, config, resumed, resume=True, stop_after=report.update + 1)
    assert resumed.of(UpdateFinished)[0].metrics["learning_rate"] == 0.5, "also after a stop"


def test_after_going_back_the_games_of_the_checkpoint_are_played_again(run: RunDirectory) -> None:
    listener = Listener()
    train(run, tiny_config(12, **COLLAPSING, training__guard__max_rollbacks=1), listener)
    (back,) = listener.of(RolledBack)
    before, after = (
        event.metrics for event in listener.of(UpdateFinished) if event.update == back.update + 1
    )
    same = ("games", "games_finished", "game_plies", "black_share", "explained_variance")
    assert {name: before.get(name) for name in same} == {name: after.get(name) for name in same}
    assert (before["learning_rate"], after["learning_rate"]) == (1.0, 0.5)


# ---- numbers that are not finite


def test_three_updates_that_are_not_finite_stop_with_a_replay_bundle(run: RunDirectory) -> None:
    config = tiny_config(4, model__architecture=LEARNS_NOTHING_FINITE, training__minibatch_size=16)
    with pytest.raises(NonFiniteUpdateError) as caught:
        train(run, config)
    bundle = run.path / REPLAY_BUNDLE
    assert caught.value.__notes__ == [f"the rows of the last attempt are in {bundle}"]
    rows = safetensors.numpy.load_file(bundle)
    assert rows["record"].shape == (16, 96)
    assert rows["target_advantage"].shape == (16,)
    checkpoints = [load_checkpoint(path) for path in CheckpointFolder(run.checkpoints_path).paths()]
    tensors = [t for c in checkpoints for group in c.tensors.values() for t in group.values()]
    assert tensors
    assert all(torch.isfinite(tensor).all() for tensor in tensors if tensor.is_floating_point())
    assert run.trainer_pid is None


def test_t1_nothing_stays_switched_on_when_an_update_raises(run: RunDirectory, tmp_path: Path) -> None:
    """A phase, a lock or a flag that an error leaves on would trip the next run in the same process.

    There is no flag to leave on: phases and the folder's lock are ``with`` blocks, and the loop keeps no state that
    says that it is at work.
    """
    config = tiny_config(2, model__architecture=LEARNS_NOTHING_FINITE, training__minibatch_size=16)
    for resume in (False, True, True):
        with pytest.raises(NonFiniteUpdateError):
            train(run, config, resume=resume)
    assert train(new_run(tmp_path, "after"), tiny_config(2)).update == 2


# ---- a device without room


def test_a_full_device_ends_the_run_with_a_checkpoint_and_names_what_to_lower(run: RunDirectory) -> None:
    config = tiny_config(
        9,
        model__architecture=NEEDS_MORE_AND_MORE,
        training__checkpoint_interval_updates=0,
        training__opponents__share=0,
        training__target_kl=0,
    )
    steps_per_update = config.rollout_rows // config.training.minibatch_size
    with pytest.raises(
        DeviceMemoryError,
        match=r"no room for env\.num_games 8 and training\.minibatch_size 32 \(CUDA out of memory\).*to 4 or 16",
    ):
        train(run, config)
    saved = CheckpointFolder(run.checkpoints_path).paths()[-1]
    assert load_checkpoint(saved).manifest.update == CALLS_WITH_ROOM // steps_per_update
    assert run.trainer_pid is None


# ---- a disk that refuses


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="no file size limits here")
def test_a_full_disk_is_an_alert_and_training_goes_on(
    run: RunDirectory, caplog: pytest.LogCaptureFixture
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    config = tiny_config(5, model__channels=128, training__weight_averaging=0)
    listener = Listener()

    def shrink_and_grow(event: TrainingEvent) -> None:
        """No file may be as large as the network from the end of update 2 to the end of update 4."""
        if isinstance(event, UpdateFinished) and event.update in (2, 4):
            limit = 250_000 if event.update == 2 else soft
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))

    try:
        report = train(run, config, listener, shrink_and_grow)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert report.update == 5
    assert listener.updates_of(CheckpointSaved) == [0, 1, 4, 5]
    assert "cannot write the checkpoint" in caplog.text
    assert "free some disk space" in caplog.text
    assert event_kinds(run).count("checkpoint_failed") == 2
    assert recorded_updates(run) == [1, 2, 3, 4, 5]
    load_checkpoint(listener.of(CheckpointSaved)[1].path)
    assert not list(run.checkpoints_path.glob(".tmp*"))
