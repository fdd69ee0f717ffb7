"""Trackers of `keisei train` and Ctrl-C."""

import os
import signal
from pathlib import Path

from process_watch import children_with, is_gone, wait_until
from tiny_runs import tiny_options
from tracked_runs import tensorboard_scalars

from keisei.record.journal_reader import JournalReader

FOREVER = 1_000_000


def tracker_of(trainer: int) -> int:
    (child,) = children_with("keisei.record.trackers.child", trainer)
    return child.pid


def test_ctrl_c_lets_the_trackers_finish(start_keisei, tmp_path: Path) -> None:
    options = tiny_options(FOREVER, record__trackers="tensorboard", training__keep_every=1)
    trainer = start_keisei("train", "--name", "mine", *options)
    run = tmp_path / "runs" / "mine"
    wait_until((run / "checkpoints" / "update-00000002").is_dir, "the second update")
    # A hurried end gives the trackers a few seconds, which must not go to their start.
    wait_until(lambda: any(run.rglob("events.out.tfevents.*")), "the trackers' first file")
    child = tracker_of(trainer.pid)
    assert os.getpgid(child) != os.getpgid(trainer.pid), "Ctrl-C goes to the trainer alone"
    trainer.send_signal(signal.SIGINT)
    _, err = trainer.communicate(timeout=60)
    assert trainer.returncode == 0, err
    wait_until(lambda: is_gone(child), "the end of the trackers' process")
    with JournalReader(run / "journal.sqlite") as journal:
        updates = [point.update for point in journal.series("loss")]
    assert [step for step, _ in tensorboard_scalars(run)["train/loss"]] == updates
