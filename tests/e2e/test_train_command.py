"""`keisei train` as people use it: real processes, signals, kills, locks, and everything that can be wrong."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import call_keisei
from tiny_runs import content_hash, latest, new_run, tiny_config, tiny_options, train

from keisei.core.checkpoint import CheckpointFolder, load_checkpoint
from keisei.record.journal_reader import JournalReader
from keisei.record.run_directory import RunDirectory

REPOSITORY = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).parent / "programs"
FOREVER = 1_000_000
KILLS = 20
#: More than the kills let the victims play, three each at most but for what they play while the signal travels.
UPDATES = 4 * KILLS
NOBODY = 65534


def wait_for_update(process: "subprocess.Popen[str]", number: int) -> None:
    """Until the plain console shows that an update has ended."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("update ") and int(line.split(",")[0].split()[1]) >= number:
            return
    _, err = process.communicate()
    raise AssertionError(f"the process ended before update {number}: {err}")


def seconds_to_end(process: "subprocess.Popen[str]", limit: float) -> float:
    began = time.monotonic()
    process.wait(limit)
    return time.monotonic() - began


def recorded(run: Path) -> list[int]:
    with JournalReader(run / "journal.sqlite") as journal:
        return [point.update for point in journal.series("loss")]


def shown(updates: int, **changes: object) -> list[str]:
    """Options of a run that writes a line as often as it can."""
    return tiny_options(updates, record__console="plain", record__console_interval_seconds=0.001, **changes)


@pytest.fixture
def finished(tmp_path: Path) -> RunDirectory:
    """A run of two updates."""
    run = new_run(tmp_path / "runs", "done")
    train(run, tiny_config(2))
    return run


# ---- the way it should go


def test_a_run_trains_reports_and_continues(keisei, tmp_path: Path) -> None:
    options = shown(3, evaluation__opponents="random,greedy", evaluation__games=2)
    first = keisei("train", "--name", "mine", *options)
    assert first.returncode == 0, first.stderr
    report = first.stdout
    assert "Training ended: all 192 plies are played." in report
    assert "3 updates, 192 plies" in report
    assert "Score against random: " in report
    assert "Score against greedy: " in report
    assert "Elo, where random has 0." in report
    assert "95 %" in report
    assert "Everything is in runs/mine" in report
    assert "keisei inspect runs/mine" in report
    assert "Traceback" not in first.stderr

    second = keisei("train", "--resume", "auto", "--training.total_plies", 5 * 64)
    assert second.returncode == 0, second.stderr
    assert "5 updates, 320 plies" in second.stdout
    assert recorded(tmp_path / "runs" / "mine") == [1, 2, 3, 4, 5]
    assert "resumed from" in (tmp_path / "runs" / "mine" / "log.txt").read_text()


def test_settings_come_from_file_then_environment_then_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "run.yaml"
    file.write_text("training: {seed: 5, epochs: 3}\nenv: {declare: false}\n")
    monkeypatch.setenv("KEISEI_TRAINING__EPOCHS", "2")
    monkeypatch.setenv("KEISEI_TRAINING__GAMMA", "0.5")
    called = call_keisei(
        capsys,
        "train",
        "--config",
        file,
        "--runs",
        tmp_path / "runs",
        "--name",
        "mine",
        *tiny_options(1, training__gamma=0.75),
    )
    assert called.code == 0, called.err
    text = (tmp_path / "runs" / "mine" / "config.yaml").read_text()
    for line in ("seed: 5", "epochs: 2", "gamma: 0.75", "declare: false", "name: mine"):
        assert line in text


def test_profile_writes_a_trace_and_a_phase_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    called = call_keisei(capsys, "train", "--profile", "--runs", tmp_path, "--name", "mine", *tiny_options(1))
    assert called.code == 0, called.err
    assert (tmp_path / "mine" / "profile-trace.json").stat().st_size > 0
    assert "collect" in (tmp_path / "mine" / "profile-phases.txt").read_text()


def test_progress_of_the_measurement_does_not_disturb_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = tiny_options(1, evaluation__opponents="random", evaluation__games=4, env__max_plies=40)
    called = call_keisei(capsys, "train", "--runs", tmp_path, *options)
    assert called.code == 0
    assert called.out.startswith("Training ended: ")


# ---- kill -9


def test_a_run_killed_at_twenty_random_moments_loses_nothing(tmp_path: Path) -> None:
    options = shown(UPDATES)
    done = subprocess.run(
        [sys.executable, PROGRAMS / "kill_training.py", tmp_path, str(KILLS), *options],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    report = json.loads(done.stdout)
    kills = report["kills"]
    assert len(kills) == KILLS
    for kill in kills:
        assert kill["resumed"], kill
        assert kill["lost"] <= 1, kill
        assert kill["torn"] == 0, kill
        assert kill["journal_is_whole"], kill
    assert sum(kill["was_running"] for kill in kills) >= KILLS // 2, "most kills met a trainer at work"
    assert report["updates"] == list(range(1, UPDATES + 1))
    assert report["saved"] == UPDATES
    whole = new_run(tmp_path, "whole")
    train(whole, tiny_config(UPDATES))
    assert content_hash(latest(RunDirectory.open(tmp_path / "victim"))) == content_hash(latest(whole))


# ---- signals


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_leaves_a_checkpoint_within_ten_seconds(
    start_keisei, tmp_path: Path, number: signal.Signals
) -> None:
    process = start_keisei("train", "--name", "mine", *shown(FOREVER, evaluation__opponents="random"))
    wait_for_update(process, 2)
    process.send_signal(number)
    assert seconds_to_end(process, 30) <= 10
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert "stopping: a checkpoint is written" in err
    assert "Traceback" not in err
    assert "Training ended: stopped by the user." in out
    run = tmp_path / "runs" / "mine"
    assert CheckpointFolder(run / "checkpoints").latest_good().checkpoint.manifest.update == recorded(run)[-1]


def test_the_second_signal_ends_within_two_seconds(start_keisei, tmp_path: Path) -> None:
    process = start_keisei("train", "--name", "mine", *shown(FOREVER))
    wait_for_update(process, 1)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    while "stopping:" not in (line := process.stderr.readline()):
        assert line, "it ended without a word"
    process.send_signal(signal.SIGINT)
    assert seconds_to_end(process, 30) <= 2
    _, err = process.communicate()
    assert process.returncode in (0, 130), "it may have ended by itself between the two"
    assert "Traceback" not in err
    found = CheckpointFolder(tmp_path / "runs" / "mine" / "checkpoints").latest_good()
    assert not found.skipped


# ---- two trainers


def test_a_second_trainer_is_refused_and_told_the_pid_of_the_first(
    start_keisei, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = start_keisei("train", "--name", "mine", *shown(FOREVER))
    wait_for_update(first, 1)
    run = tmp_path / "runs" / "mine"
    called = call_keisei(capsys, "train", "--resume", run)
    called.assert_refused(1, f"pid {first.pid}", str(run))
    listed = call_keisei(capsys, "runs", "--runs", tmp_path / "runs")
    assert f"training (pid {first.pid})" in listed.out
    inspected = call_keisei(capsys, "inspect", run)
    assert f"being trained by process {first.pid}" in inspected.out
    assert first.poll() is None, "the first goes on"


# ---- damaged runs


def damage(checkpoint: Path) -> None:
    path = checkpoint / "training.safetensors"
    path.write_bytes(path.read_bytes()[:-7])


def test_1c_a_damaged_checkpoint_is_named_and_the_previous_one_used(
    finished: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    newest = latest(finished).path
    damage(newest)
    called = call_keisei(capsys, "train", "--resume", finished.path, "--training.total_plies", 3 * 64)
    assert called.code == 0, called.err
    assert f"skipped a damaged checkpoint: {newest / 'training.safetensors'}" in called.err
    assert "3 updates" in called.out
    load_checkpoint(newest)


def test_1c_nothing_good_left_is_exit_code_three(
    finished: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = CheckpointFolder(finished.checkpoints_path).paths()
    for path in paths:
        damage(path)
    contents = [path.read_bytes() for folder in paths for path in sorted(folder.iterdir())]
    called = call_keisei(capsys, "train", "--resume", finished.path)
    called.assert_refused(3, *map(str, paths))
    assert contents == [path.read_bytes() for folder in paths for path in sorted(folder.iterdir())]
    assert recorded(finished.path) == [1, 2]


def test_a_damaged_journal_is_named_with_what_to_do(
    finished: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    finished.journal_path.write_bytes(b"no database at all" * 100)
    called = call_keisei(capsys, "train", "--resume", finished.path)
    called.assert_refused(1, str(finished.journal_path), "move it away")
    finished.journal_path.unlink()
    again = call_keisei(capsys, "train", "--resume", finished.path, "--training.total_plies", 3 * 64)
    assert again.code == 0, again.err


def test_a_run_folder_of_a_newer_format_is_refused(
    finished: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    description = finished.path / "run.json"
    description.write_text(description.read_text().replace('"format_version": 1', '"format_version": 99'))
    called = call_keisei(capsys, "train", "--resume", finished.path)
    called.assert_refused(1, "99", "upgrade", "nothing was changed")


def test_a_journal_of_a_newer_keisei_is_refused(
    finished: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    with sqlite3.connect(finished.journal_path) as connection:
        connection.execute("UPDATE schema_version SET version = 99")
    connection.close()
    call_keisei(capsys, "train", "--resume", finished.path).assert_refused(1, "version 99", "upgrade")


# ---- wrong settings


def test_g5_a_checkpoint_of_another_architecture_is_refused(
    finished: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    before = content_hash(latest(finished))
    called = call_keisei(capsys, "train", "--resume", finished.path, "--model.channels", 16)
    called.assert_refused(1, "channels is 8 but 16 is wanted", "config.yaml")
    assert content_hash(latest(finished)) == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--training.sede", "3"], ["training.sede", "did you mean 'training.seed'?"]),
        (["--training.seed", "x"], ["training.seed", "'x'"]),
        (["--training.seed"], ["training.seed", "needs a value"]),
        (["stray"], ["stray"]),
        (["--training.minibatch_size", "65"], ["minibatch_size 65", "64 rows"]),
        (["--config", "absent.yaml"], ["absent.yaml", "No such file"]),
        (["--model.architecture", "resnte"], ["resnte", "resnet"]),
        (["--model.architecture", "no.such:module"], ["no.such"]),
        (["--env.starts.sfen_file", "absent.sfen"], ["absent.sfen"]),
        (["--env.starts.sfen_file", "absent.sfen", "--parallel.num_workers", "2"], ["absent.sfen"]),
        (["--env.max_plies", "4", "--env.starts.random_prefix", "1"], ["random_prefix_plies", "max_plies 4"]),
        (["--training.precision", "fp16"], ["fp16", "GPU"]),
        (["--name", "../outside"], ["../outside"]),
    ],
)
def test_settings_that_cannot_be_are_exit_code_two(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: list[str]
) -> None:
    given = {argument.partition("=")[0] for argument in arguments}
    defaults = [option for option in tiny_options(1) if option.partition("=")[0] not in given]
    called = call_keisei(capsys, "train", "--runs", tmp_path, *defaults, *arguments)
    called.assert_refused(2, *words)


def test_a_gpu_that_is_not_there_is_exit_code_two(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    options = tiny_options(1, training__device="cuda")
    call_keisei(capsys, "train", "--runs", tmp_path, *options).assert_refused(2, "'cuda'", "0 GPUs", "cpu")
    automatic = tiny_options(1, training__device="auto", training__precision="fp16")
    call_keisei(capsys, "train", "--runs", tmp_path, *automatic).assert_refused(2, "fp16", "bf16")


def test_a_variable_with_a_typo_is_exit_code_two(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEISEI_TRAINING__SEDE", "1")
    call_keisei(capsys, "train", "--runs", tmp_path).assert_refused(2, "KEISEI_TRAINING__SEED")


def test_a_name_that_is_taken_is_refused_and_nothing_lost(
    finished: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    before = content_hash(latest(finished))
    called = call_keisei(capsys, "train", "--runs", finished.path.parent, "--name", "done", *tiny_options(1))
    called.assert_refused(1, "'done' exists already", "--resume done")
    assert content_hash(latest(finished)) == before


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        (["--config", "other.yaml"], ["--config 'other.yaml' contradicts --resume"]),
        (["--name", "other"], ["--name 'other' contradicts --resume"]),
    ],
)
def test_what_contradicts_a_resume_is_refused(
    finished: RunDirectory, capsys: pytest.CaptureFixture[str], extra: list[str], words: list[str]
) -> None:
    call_keisei(capsys, "train", "--resume", finished.path, *extra).assert_refused(2, *words)


def test_a_run_that_does_not_exist_is_refused_with_a_suggestion(
    finished: RunDirectory, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = finished.path.parent
    call_keisei(capsys, "train", "--runs", runs, "--resume", "dome").assert_refused(1, "did you mean 'done'?")
    call_keisei(capsys, "train", "--runs", runs / "none", "--resume", "auto").assert_refused(
        1, "no run to continue"
    )


# ---- no permission

AS_NOBODY = """
import os, sys
import torch
import keisei.commands.training, keisei.training.trainer
from keisei.cli import main
torch.set_num_threads(1)
os.setgroups([]); os.setgid({nobody}); os.setuid({nobody})  # behind the imports, which may need root
sys.argv = ["keisei", "train", *sys.argv[1:]]
main()
"""


@pytest.mark.skipif(os.name == "nt" or os.getuid() != 0, reason="only root can become somebody else")
def test_no_permission_is_one_paragraph_and_changes_nothing(finished: RunDirectory, tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == 0 and folder.is_relative_to(tmp_path.parents[1]):
            folder.chmod(0o755)
    before = content_hash(latest(finished))
    program = AS_NOBODY.format(nobody=NOBODY)
    for arguments in (
        ["--resume", str(finished.path)],
        ["--runs", str(finished.path.parent), "--name", "new", *tiny_options(1)],
    ):
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments], cwd="/", capture_output=True, text=True, check=False
        )
        assert done.returncode == 1, done.stderr
        assert done.stderr.startswith("error: ")
        assert "Permission denied" in done.stderr
        assert "Traceback" not in done.stderr
    assert content_hash(latest(finished)) == before
