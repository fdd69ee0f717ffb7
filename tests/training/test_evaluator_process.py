"""The process that measures checkpoints: it finds what the trainer would find, and it never stays behind."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
import torch
from small_checkpoints import make_run
from tiny_runs import tiny_config

from keisei.config_schema import AppConfig
from keisei.evaluation.checkpoint_network import load_network
from keisei.training.evaluator_process import (
    NICENESS,
    EvaluationDone,
    EvaluationFailed,
    EvaluationJob,
    EvaluationProgress,
    EvaluatorProcess,
)
from keisei.training.grading import grade
from keisei.training.parallel.channel import Channel, ChannelWatch

if TYPE_CHECKING:
    from conftest import StartPython

PATIENCE_SECONDS = 240.0
ORPHAN_SECONDS = 5.0

TRAINER = """
import time
from pathlib import Path
from keisei.config_loader import load_config
from keisei.training.evaluator_process import EvaluatorProcess
from keisei.training.parallel.channel import Channel

ours, theirs = Channel.pair()
process = EvaluatorProcess(load_config(None, {}).config, Path("nowhere"), theirs)
process.start()
print(process.pid, flush=True)
time.sleep(600)
"""


def config() -> AppConfig:
    return tiny_config(1, evaluation__opponents=["random"], evaluation__games=4, env__max_plies=30)


@pytest.fixture
def channel(tmp_path: Path) -> Iterator[Channel]:
    """The line to a real evaluator."""
    ours, theirs = Channel.pair()
    process = EvaluatorProcess(config(), tmp_path / "registry.json", theirs)
    process.start()
    theirs.close()
    yield ours
    ours.close()
    process.join(PATIENCE_SECONDS)
    assert process.exitcode is not None, "it leaves when the trainer hangs up"


def answers(channel: Channel) -> list[object]:
    """What is told of a checkpoint, the last of it the result."""
    found: list[object] = []
    watch = ChannelWatch()
    watch.add(channel)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        watch.wait(1.0)
        found += channel.receive()
        if found and not isinstance(found[-1], EvaluationProgress):
            return found
    raise TimeoutError("the evaluator did not answer")


def test_it_measures_what_the_trainer_would_and_survives_a_checkpoint_that_is_none(
    channel: Channel, tmp_path: Path
) -> None:
    run = make_run(tmp_path / "runs", "measured")
    path = run.checkpoints_path / "update-00000001"
    missing, sound = EvaluationJob(9, 900, tmp_path / "update-00000009"), EvaluationJob(1, 100, path)
    channel.send(missing)
    (failed,) = answers(channel)
    channel.send(sound)
    progress, *_, measured = answers(channel)
    assert isinstance(failed, EvaluationFailed)
    assert failed.job == missing
    assert "update-00000009" in failed.reason
    network, _ = load_network(path)
    assert isinstance(measured, EvaluationDone)
    assert measured.job == sound
    assert isinstance(progress, EvaluationProgress)
    assert (progress.job, progress.opponent, progress.planned) == (sound, "random", 4)
    assert 0 < progress.wins + progress.draws + progress.losses <= 4
    rating = measured.grade.rating
    assert rating is not None
    assert rating.name.startswith("policy:measured@1#")
    assert measured.grade == grade(
        config(), network, torch.device("cpu"), name=rating.name, registry=tmp_path / "again.json"
    )


@pytest.mark.skipif(not hasattr(os, "nice"), reason="this system has no niceness; Linux or macOS has")
def test_kill_9_of_the_trainer_leaves_no_evaluator_behind(start_python: "StartPython") -> None:
    trainer = start_python(TRAINER)
    assert trainer.stdout is not None
    evaluator = psutil.Process(int(trainer.stdout.readline()))
    deadline = time.monotonic() + PATIENCE_SECONDS
    while evaluator.nice() != NICENESS and time.monotonic() < deadline:
        time.sleep(0.01)
    assert evaluator.nice() == NICENESS
    trainer.kill()
    trainer.wait()
    psutil.wait_procs([evaluator], timeout=ORPHAN_SECONDS)
    assert not evaluator.is_running()
