"""The trainer's side of evaluations: one process that measures checkpoints, and never holds the trainer up.

One checkpoint is measured at a time, and one may wait; a newer one takes the place of one that waits. A process that
dies is replaced and measures the same checkpoint once more, until too many have died: then the run goes on without.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from typing import Any

from keisei.training.evaluator_process import (
    EvaluationDone,
    EvaluationFailed,
    EvaluationJob,
    EvaluationProgress,
)
from keisei.training.parallel.channel import Channel, ChannelWatch
from keisei.training.parallel.messages import Failure
from keisei.training.parallel.self_play_worker import LAST_WORDS_SECONDS
from keisei.training.parallel.worker_crew import exit_words, interrupts_held_back, one_thread_each
from keisei.training.parallel.worker_supervision import RestartBudget, cpu_seconds

#: How often one checkpoint is given to an evaluator that dies of it.
ATTEMPTS = 2
RESTARTS = 5
RESTART_WINDOW_SECONDS = 3600.0
#: An evaluator that has not computed for so long is taken for hung when the end of the run waits for it.
HANG_SECONDS = 60.0
#: The budget counts by worker; there is one evaluator.
ONLY_ONE = 0

log = logging.getLogger(__name__)

#: Makes the process for one end of a line, not yet started.
Launch = Callable[[Channel], BaseProcess]
Outcome = EvaluationDone | EvaluationFailed


class Evaluator:
    """Lends checkpoints to the process and takes results back. It is started when there is something to measure."""

    def __init__(self, launch: Launch, budget: RestartBudget | None = None) -> None:
        self._launch = launch
        self._budget = budget or RestartBudget(RESTARTS, RESTART_WINDOW_SECONDS)
        self._process: BaseProcess | None = None
        self._channel: Channel | None = None
        self._running: EvaluationJob | None = None
        self._waiting: EvaluationJob | None = None
        self._attempts = 0
        #: How far the match is that is being played, None before its first games have ended.
        self.progress: EvaluationProgress | None = None
        self._last_words = ""
        self._cause = ""
        #: Too many processes have died: nothing is measured any more.
        self.has_given_up = False

    @property
    def jobs(self) -> tuple[EvaluationJob, ...]:
        """What is being measured, and what waits to be."""
        return tuple(job for job in (self._running, self._waiting) if job is not None)

    @property
    def pid(self) -> int | None:
        """Of the process, None while there is none."""
        return None if self._process is None else self._process.pid

    def request(self, job: EvaluationJob) -> None:
        """Measure this checkpoint as soon as the one before is done; `poll` gets it going."""
        if self.has_given_up:
            return
        if self._waiting is not None:
            log.info("update %d is not measured: update %d takes its turn", self._waiting.update, job.update)
        self._waiting = job

    def poll(self) -> list[Outcome]:
        """What has been measured since the last call, and what could not be. Never waits."""
        outcomes: list[Outcome] = []
        if self._process is not None and self._channel is not None:
            # Asked first: what it said before it ended is then there.
            has_ended = not self._process.is_alive()
            for message in self._channel.receive():
                outcomes += self._hear(message)
            self._channel.flush()
            if has_ended or self._channel.ended:
                outcomes += self._bury(self._process)
        return outcomes + self._advance()

    def wait(self, timeout_seconds: float) -> None:
        """Returns when there may be something to poll, or after the timeout."""
        if self._channel is None:
            time.sleep(timeout_seconds)  # between two lives of the process
            return
        watch = ChannelWatch()
        watch.add(self._channel)
        watch.wait(timeout_seconds)
        watch.close()

    def cpu_seconds(self) -> float:
        """Computing time of the process, by which a slow one is told from a hung one."""
        return 0.0 if self.pid is None else cpu_seconds(self.pid)

    def close(self) -> None:
        """Ends the process and forgets what it was to measure. A later request starts a new one."""
        self._running = self._waiting = None
        self._end_process()

    # ---- the process

    def _advance(self) -> list[Outcome]:
        """Gives the process what waits, if it is free; starts one where there is none."""
        if self._running is None and self._waiting is not None:
            self._running, self._waiting, self._attempts = self._waiting, None, 0
            if self._channel is not None:
                self._lend(self._channel)
        if self._running is None or self._channel is not None:
            return []
        # The first attempt is free; those after a death are counted, and lie apart.
        delay = 0.0 if self._attempts == 0 else self._budget.allow(ONLY_ONE)
        if delay is None:
            return self._give_up()
        return self._start() if delay == 0 else []

    def _give_up(self) -> list[Outcome]:
        self.has_given_up = True
        lost = self.jobs
        self._running = self._waiting = None
        words = f"{self._cause}, too often to be started again: training goes on without evaluations"
        return [EvaluationFailed(job, words) for job in lost]

    def _start(self) -> list[Outcome]:
        ours, theirs = Channel.pair()
        process = self._launch(theirs)
        try:
            with interrupts_held_back(), one_thread_each():
                process.start()
        except OSError as error:
            ours.close()
            self._attempts += 1
            return self._missed(f"the evaluator cannot be started ({error})")
        finally:
            theirs.close()
        self._process, self._channel = process, ours
        self._lend(ours)
        return []

    def _lend(self, channel: Channel) -> None:
        self._attempts += 1
        self.progress = None
        self._last_words = ""
        channel.send(self._running)

    def _hear(self, message: Any) -> list[Outcome]:
        if isinstance(message, Failure):
            log.error("the evaluator failed:\n%s", message.traceback)
            self._last_words = f": {message.error}"
            return []
        if isinstance(message, EvaluationProgress):
            self.progress = message
            return []
        self._running = self.progress = None
        self._budget.delivered(ONLY_ONE)
        return [message]

    def _bury(self, process: BaseProcess) -> list[Outcome]:
        process.join(LAST_WORDS_SECONDS)
        cause = f"the evaluator died of {exit_words(process)}{self._last_words}"
        self._end_process()
        return self._missed(cause)

    def _missed(self, cause: str) -> list[Outcome]:
        """There is no process any more. Its checkpoint is measured again, unless that was the last attempt."""
        self._cause = cause
        job = self._running
        if job is None:
            log.warning("%s; the next evaluation starts a new one", cause)
            return []
        if self._attempts < ATTEMPTS:
            return [EvaluationFailed(job, f"{cause}; it is tried again")]
        self._running = None
        return [EvaluationFailed(job, f"{cause}, {self._attempts} times in a row")]

    def _end_process(self) -> None:
        self.progress = None
        process, self._process = self._process, None
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()
        if process is not None:
            process.kill()
            process.join()
            process.close()
