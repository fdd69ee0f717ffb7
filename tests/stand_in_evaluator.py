"""An evaluator without PyTorch: it starts in a fraction of a second, and answers or dies as it is told."""

import os
import signal
import time
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import NamedTuple

from keisei.training.evaluator_process import EvaluationDone, EvaluationJob, EvaluationProgress
from keisei.training.parallel.channel import Channel, ChannelWatch
from keisei.training.parallel.messages import Failure

#: Opponent, wins, draws, losses, and games in all.
HALF_TIME = ("random", 3, 1, 2, 12)
LOOK_SECONDS = 0.01


class FixedGrade(NamedTuple):
    """What stands for a grade, whose own module would bring PyTorch."""

    wins: int


class StandInEvaluator(SpawnProcess):
    """``deaths`` names a file with one byte for each process that shall die at its first job.

    ``whistle`` names a file that ends every match as soon as it is there; half of the games are told of before.
    """

    def __init__(
        self, channel: Channel, deaths: Path, last_words: str = "", whistle: Path | None = None
    ) -> None:
        super().__init__(daemon=True)
        self._channel = channel
        self._deaths = deaths
        self._last_words = last_words
        self._whistle = whistle

    def run(self) -> None:
        watch = ChannelWatch()
        watch.add(self._channel)
        while not self._channel.ended:
            watch.wait(1.0)
            for job in self._channel.receive():
                self._answer(job)

    def _answer(self, job: EvaluationJob) -> None:
        left = self._deaths.read_bytes()
        if left:
            self._deaths.write_bytes(left[1:])
            if self._last_words:
                self._channel.send(Failure(self._last_words, "the traceback"))
            os.kill(os.getpid(), signal.SIGKILL)
        if self._whistle is not None:
            self._channel.send(EvaluationProgress(job, *HALF_TIME))
            while not self._whistle.exists():
                time.sleep(LOOK_SECONDS)
        self._channel.send(EvaluationDone(job, FixedGrade(job.update)))  # type: ignore[arg-type]
