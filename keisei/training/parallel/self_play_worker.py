"""A worker process: from its first instruction to its end it belongs to the trainer that started it.

Nothing heavy is imported here. PyTorch, the network and the games come inside `run`, where whatever goes wrong is
told to the trainer.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import traceback
from dataclasses import dataclass
from multiprocessing.context import SpawnProcess
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any

from keisei.training.parallel.communication import TrainerGoneError, WorkerEnd
from keisei.training.parallel.messages import Failure

if TYPE_CHECKING:
    from keisei.config_schema import AppConfig
    from keisei.training.parallel.model_sync import WeightsReader

EXIT_STOPPED, EXIT_FAILED, EXIT_TRAINER_GONE = 0, 1, 2
LAST_WORDS_SECONDS = 5.0
#: From <sys/prctl.h>.
PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class WorkerJob:
    """What a worker has to know to play; the trainer makes one for each."""

    worker: int
    config: AppConfig
    games: int
    seed: int
    first_game: int


class SelfPlayWorker(SpawnProcess):
    """The process. It plays until it is told to stop, or the trainer is gone."""

    def __init__(
        self, job: WorkerJob, end: WorkerEnd, learner_weights: WeightsReader, opponent_weights: WeightsReader
    ) -> None:
        super().__init__(name=f"keisei-worker-{job.worker}", daemon=True)
        self._end = end
        self._parts: Any = (job, learner_weights, opponent_weights)
        # The kernel means the thread that started a process when it speaks of its parent.
        self._may_die_with_starter = threading.current_thread() is threading.main_thread()

    def __getstate__(self) -> dict[str, Any]:
        # Packed apart, because unpacking them imports PyTorch.
        return {**self.__dict__, "_parts": bytes(ForkingPickler.dumps(self._parts))}

    def run(self) -> None:
        # Ctrl-C goes to the whole group of processes: the trainer hears it and decides.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if self._may_die_with_starter:
            die_with_parent()
        exit_code = self._play_and_tell()
        sys.stdout.flush()
        sys.stderr.flush()
        # The shared memory is in use to the last. Taking the interpreter apart around it costs time and complaints.
        os._exit(exit_code)

    def _play_and_tell(self) -> int:
        """Plays to the end; an error goes to the trainer. Returns the exit code."""
        try:
            self._play()
        except TrainerGoneError:
            return EXIT_TRAINER_GONE
        except BaseException as error:  # noqa: BLE001 the process boundary: whatever it was, the trainer must hear it
            self._end.send(Failure(f"{type(error).__name__}: {error}", traceback.format_exc()))
            self._end.flush(LAST_WORDS_SECONDS)
            return EXIT_FAILED
        return EXIT_STOPPED

    def _play(self) -> None:
        self._parts = pickle.loads(self._parts)
        from keisei.training.parallel.self_play import SelfPlay

        job, learner_weights, opponent_weights = self._parts
        SelfPlay(job, self._end, learner_weights, opponent_weights).serve()


def die_with_parent() -> None:
    """On Linux the kernel ends this process with its parent, also while it is stopped or stuck.

    Elsewhere the closed channel ends it, as soon as it looks there.
    """
    if not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    parent = multiprocessing.parent_process()
    if parent is not None and os.getppid() != parent.pid:
        os._exit(EXIT_TRAINER_GONE)  # it ended before the kernel was asked
