"""The worker processes of a manager: started, watched, replaced when they die, ended."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from multiprocessing.process import BaseProcess
from typing import Any

import psutil

from keisei.errors import WorkerFailedError
from keisei.training.parallel.communication import Received, ReceivedSlot, WorkerCommunicator, WorkerEnd
from keisei.training.parallel.messages import Command, Failure
from keisei.training.parallel.worker_status import WorkerState
from keisei.training.parallel.worker_supervision import RestartBudget, Watchman

log = logging.getLogger(__name__)

STOP_TIMEOUT_SECONDS = 2.0
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

#: Makes the process of one life of a worker (worker, generation, its end of the line), not yet started.
MakeProcess = Callable[[int, int, WorkerEnd], BaseProcess]


class WorkerCrew:
    """Processes by worker number. What they say goes to `on_message`, also what they said before they died."""

    def __init__(
        self,
        communicator: WorkerCommunicator,
        make_process: MakeProcess,
        on_message: Callable[[int, Received], None],
        watchman: Watchman,
        budget: RestartBudget,
    ) -> None:
        self._communicator = communicator
        self._make_process = make_process
        self._on_message = on_message
        self._watchman = watchman
        self._budget = budget
        self._processes: dict[int, BaseProcess] = {}
        self._paused: set[int] = set()
        self.restarts = 0

    @property
    def workers(self) -> tuple[int, ...]:
        return tuple(sorted(self._processes))

    # ---- life and death

    def start(self, workers: Sequence[int]) -> None:
        for worker in workers:  # all memory first: a lack of it shows before any process starts
            self._communicator.open(worker)
        for worker in workers:
            self._spawn(worker)

    def _spawn(self, worker: int) -> None:
        try:
            end = self._communicator.connect(worker)
            process = self._make_process(worker, self._communicator.generation(worker), end)
            with interrupts_held_back(), one_thread_each():
                process.start()
        except OSError as error:
            raise WorkerFailedError(f"cannot start worker {worker}: {error}") from error
        self._communicator.started(worker)
        self._processes[worker] = process
        if worker in self._paused:
            self._communicator.tell(worker, Command.PAUSE)

    def stop(self, workers: Sequence[int]) -> None:
        """Ends workers; rows that they had delivered by then are not lost."""
        for worker in workers:
            self._communicator.tell(worker, Command.STOP)
            if self._communicator.status(worker).state is WorkerState.STARTING:
                self._processes[worker].kill()  # it has nothing to lose, and hears nothing yet
        deadline = time.monotonic() + STOP_TIMEOUT_SECONDS
        for worker in workers:
            self._join(worker, deadline)
            self._communicator.close_line(worker)
        self._paused -= set(workers)

    def _join(self, worker: int, deadline: float) -> None:
        process = self._processes.pop(worker)
        process.join(max(0.0, deadline - time.monotonic()))
        _end(process)
        process.close()
        for message in self._communicator.disconnect(worker):
            if isinstance(message, ReceivedSlot):
                self._on_message(worker, message)

    def tell(self, workers: Sequence[int], command: Command) -> None:
        """Gives an order; a pause also holds for the processes that replace the present ones."""
        if command is Command.PAUSE:
            self._paused |= set(workers)
        elif command is Command.RESUME:
            self._paused -= set(workers)
        for worker in workers:
            self._communicator.tell(worker, command)

    # ---- keeping them alive

    def take_in(self, timeout_seconds: float) -> None:
        """Hears everybody by the first message or the timeout, then looks who has died."""
        for worker, message in self._communicator.receive(timeout_seconds):
            self._hear(worker, message)
        self._watchman.look()
        for worker, process in tuple(self._processes.items()):
            if self._is_lost(worker, process):
                self._replace(worker, process)

    def _hear(self, worker: int, message: Received) -> None:
        if isinstance(message, ReceivedSlot):
            self._budget.delivered(worker)
        elif isinstance(message, Failure):
            self._note_failure(worker, message)
        self._on_message(worker, message)

    def _note_failure(self, worker: int, failure: Failure) -> None:
        log.error("worker %d failed:\n%s", worker, failure.traceback)
        if not self._budget.has_delivered(worker):
            raise WorkerFailedError(
                f"worker {worker} failed before it played anything: {failure.error}; its own traceback:\n"
                f"{failure.traceback}"
            )

    def _is_lost(self, worker: int, process: BaseProcess) -> bool:
        if not self._communicator.is_connected(worker):
            return True
        if self._communicator.has_ended(worker):
            process.join(STOP_TIMEOUT_SECONDS)
            _end(process)
        elif process.is_alive() and not self._is_hung(worker, process):
            return False
        elif _end(process):
            log.warning(
                "worker %d gave no sign of life for too long (parallel.heartbeat_timeout_seconds is %.1f)",
                worker,
                self._watchman.patience_seconds,
            )
        return True

    def _is_hung(self, worker: int, process: BaseProcess) -> bool:
        return process.pid is not None and self._watchman.is_hung(
            worker, process.pid, self._communicator.status(worker)
        )

    def _replace(self, worker: int, process: BaseProcess) -> None:
        cause = _cause(process, self._communicator.status(worker).state)
        for message in self._communicator.disconnect(worker):
            self._hear(worker, message)
        delay = self._budget.allow(worker)
        if delay is None:
            raise WorkerFailedError(
                f"worker {worker} died more than {self._budget.restarts} times within "
                f"{self._budget.window_seconds:.0f} s, last of {cause}; look for a lack of memory, or lower "
                "parallel.num_workers"
            )
        if delay > 0:
            return  # not yet
        log.warning("worker %d died of %s and is replaced", worker, cause)
        self._spawn(worker)
        process.close()
        self.restarts += 1

    # ---- figures

    def status(self, worker: int) -> dict[str, Any]:
        """What a worker says of itself, and what the system says of its process."""
        process, status = self._processes[worker], self._communicator.status(worker).read()
        return {
            **asdict(status),
            "state": status.state.name.lower(),
            "pid": process.pid,
            "alive": process.is_alive(),
            "generation": self._communicator.generation(worker),
            "memory_bytes": _memory_bytes(process),
        }


def _end(process: BaseProcess) -> bool:
    """Makes sure that a process has ended; True if it had to be made to."""
    if not process.is_alive():
        return False
    process.kill()
    process.join()
    return True


def _cause(process: BaseProcess, state: WorkerState) -> str:
    """Why a worker ended, in words."""
    code = process.exitcode
    if state is WorkerState.STARTING and code is not None and code >= 0:
        return (
            f"exit code {code} before it could start: its error is on the terminal (a script that starts workers "
            "needs the guard if __name__ == '__main__')"
        )
    return exit_words(process)


def exit_words(process: BaseProcess) -> str:
    """What ended a process, as the system tells it."""
    code = process.exitcode
    if code is None or code >= 0:
        return f"exit code {code}"
    known = -code in set(signal.Signals)
    return f"signal {signal.Signals(-code).name if known else -code}"


def _memory_bytes(process: BaseProcess) -> int:
    try:
        return int(psutil.Process(process.pid).memory_info().rss)
    except psutil.Error:
        return 0


@contextmanager
def interrupts_held_back() -> Iterator[None]:
    """A process that is started meanwhile never hears Ctrl-C, not even before it can say that it does not want to."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)


@contextmanager
def one_thread_each() -> Iterator[None]:
    """A process that is started meanwhile makes no pools of threads, one for each core, when it imports libraries."""
    previous = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in previous.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
