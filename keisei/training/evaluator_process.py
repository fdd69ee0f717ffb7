"""The process that measures checkpoints beside training. It belongs to the trainer as the workers do.

Nothing heavy is imported here. PyTorch and the players come inside `run`, where whatever goes wrong is told to the
trainer.
"""

from __future__ import annotations

import os
import signal
import threading
import time
import traceback
from dataclasses import dataclass
from functools import partial
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from keisei.errors import KeiseiError
from keisei.training.parallel.channel import Channel, ChannelWatch
from keisei.training.parallel.messages import Failure
from keisei.training.parallel.self_play_worker import (
    EXIT_FAILED,
    EXIT_TRAINER_GONE,
    LAST_WORDS_SECONDS,
    die_with_parent,
)

if TYPE_CHECKING:
    from keisei.config_schema import AppConfig
    from keisei.evaluation.scores import Score
    from keisei.training.grading import Grade

#: The lowest priority there is: where all cores are busy with training, evaluations get what is left.
NICENESS = 19
#: How long an idle evaluator sleeps at most. Messages wake it at once.
IDLE_SECONDS = 1.0
#: How often the trainer hears how far a match is; it records that once an update.
PROGRESS_SECONDS = 0.5


class EvaluationJob(NamedTuple):
    """A checkpoint to be measured, and the moment of the run that it belongs to."""

    update: int
    plies: int
    path: Path


class EvaluationProgress(NamedTuple):
    """How far the match is that is being played now."""

    job: EvaluationJob
    opponent: str
    wins: int
    draws: int
    losses: int
    planned: int
    """Games of the whole match."""


@dataclass(frozen=True)
class EvaluationDone:
    """A checkpoint is measured."""

    job: EvaluationJob
    grade: Grade


@dataclass(frozen=True)
class EvaluationFailed:
    """A checkpoint could not be measured; the evaluator is ready for the next one, if it lives."""

    job: EvaluationJob
    reason: str


class EvaluatorProcess(SpawnProcess):
    """Measures one checkpoint after the other until the trainer is gone."""

    def __init__(self, config: AppConfig, registry: Path, channel: Channel) -> None:
        super().__init__(name="keisei-evaluator", daemon=True)
        self._config = config
        self._registry = registry
        self._channel = channel
        self._told_at = 0.0
        # The kernel means the thread that started a process when it speaks of its parent.
        self._may_die_with_starter = threading.current_thread() is threading.main_thread()

    def run(self) -> None:
        # Ctrl-C goes to the whole group of processes: the trainer hears it and decides.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if self._may_die_with_starter:
            die_with_parent()
        if hasattr(os, "nice"):
            os.nice(NICENESS)
        try:
            self._serve()
        except BaseException as error:  # noqa: BLE001 the process boundary: whatever it was, the trainer must hear it
            self._tell(Failure(f"{type(error).__name__}: {error}", traceback.format_exc()))
            os._exit(EXIT_FAILED)
        os._exit(EXIT_TRAINER_GONE)

    def _serve(self) -> None:
        import torch

        torch.set_num_threads(1)
        watch = ChannelWatch()
        watch.add(self._channel)
        while not self._channel.ended:
            watch.wait(IDLE_SECONDS)
            for job in self._channel.receive():
                self._tell(self._measured(job))

    def _measured(self, job: EvaluationJob) -> EvaluationDone | EvaluationFailed:
        from keisei.evaluation.checkpoint_player import load_player_network
        from keisei.training.grading import grade

        try:
            loaded = load_player_network(str(job.path), job.path.parent, self._config.evaluation.device)
            inference = loaded.inference
            result = grade(
                self._config,
                inference.network,
                inference.device,
                name=f"policy:{loaded.name}",
                registry=self._registry,
                on_game=partial(self._progress, job),
                should_stop=self._is_alone,
            )
        except KeiseiError as error:
            return EvaluationFailed(job, str(error))
        return EvaluationDone(job, result)

    def _progress(self, job: EvaluationJob, opponent: str, score: Score, planned: int) -> None:
        now = time.monotonic()
        if now - self._told_at >= PROGRESS_SECONDS:
            self._told_at = now
            counts = (score.wins, score.draws, score.losses)
            self._channel.send(EvaluationProgress(job, opponent, *counts, planned))

    def _is_alone(self) -> bool:
        """Whether the trainer is gone. It sends no second job before the first is done, so there is nothing to read."""
        self._channel.receive()
        return self._channel.ended

    def _tell(self, message: EvaluationDone | EvaluationFailed | Failure) -> None:
        self._channel.send(message)
        if self._channel.unsent:
            watch = ChannelWatch()
            watch.add(self._channel)
            watch.wait(LAST_WORDS_SECONDS)
