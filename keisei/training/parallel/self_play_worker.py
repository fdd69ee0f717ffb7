"""A worker process: plays many games at once, fills slots, obeys at once."""

from __future__ import annotations

import time
import traceback
from collections import deque
from dataclasses import dataclass
from multiprocessing.context import SpawnProcess
from typing import Any

import numpy as np
import torch

from keisei.config_schema import AppConfig
from keisei.core.inference import Inference
from keisei.core.model_factory import model_factory
from keisei.core.random_states import capture_random_states, restore_random_states
from keisei.core.rollout import Rollout
from keisei.shogi.policy import action_count
from keisei.training.environments import make_env, play_settings
from keisei.training.parallel.communication import WorkerEnd
from keisei.training.parallel.messages import (
    Command,
    Credit,
    Failure,
    LoadState,
    SavedState,
    SlotFilled,
    ToWorker,
)
from keisei.training.parallel.model_sync import ModelSynchronizer
from keisei.training.parallel.worker_status import WorkerState

#: How long a waiting worker sleeps before it shows that it is alive.
IDLE_SECONDS = 0.05
EXIT_FAILED = 1


@dataclass(frozen=True)
class WorkerJob:
    """What a worker has to know to play; the trainer makes one for each."""

    worker: int
    config: AppConfig
    games: int
    seed: int
    first_game: int


class SelfPlayWorker(SpawnProcess):
    """The process. Everything heavy happens in `run`, in the new process."""

    def __init__(
        self,
        job: WorkerJob,
        end: WorkerEnd,
        learner_weights: ModelSynchronizer,
        opponent_weights: ModelSynchronizer,
    ) -> None:
        super().__init__(name=f"keisei-worker-{job.worker}", daemon=True)
        self._job = job
        self._end = end
        self._learner_weights = learner_weights
        self._opponent_weights = opponent_weights

    def run(self) -> None:
        try:
            _Player(self._job, self._end, self._learner_weights, self._opponent_weights).serve()
        except (EOFError, BrokenPipeError, ConnectionResetError, KeyboardInterrupt):
            return  # the trainer is gone, or goes: nobody is left to tell
        except BaseException as error:
            # The process boundary: whatever it was, the trainer must hear of it.
            self._end.send(Failure(f"{type(error).__name__}: {error}", traceback.format_exc()))
            raise SystemExit(EXIT_FAILED) from error


class _StopRequested(Exception):  # noqa: N818 an order, not an error
    """The trainer wants the worker to end."""


class _Player:
    """The life of a worker, inside its process."""

    def __init__(
        self,
        job: WorkerJob,
        end: WorkerEnd,
        learner_weights: ModelSynchronizer,
        opponent_weights: ModelSynchronizer,
    ) -> None:
        torch.set_num_threads(1)
        self._job = job
        self._end = end
        self._learner_weights = learner_weights
        self._opponent_weights = opponent_weights
        self._learner = self._inference()
        self._opponent = self._inference()
        self._version = 0
        self._opponent_version = 0
        self._rollout = self._new_rollout()
        self._credits: deque[Credit] = deque()
        self._paused = False
        self._reset = False
        self._sequence = 0

    def _inference(self) -> Inference:
        config = self._job.config
        network = model_factory(config.model, action_count(config.env.actions)).requires_grad_(False)
        return Inference(network, device=torch.device("cpu"), precision=config.training.precision)

    def _new_rollout(self) -> Rollout:
        job = self._job
        env = make_env(job.config, num_games=job.games, seed=job.seed, num_threads=1)
        return Rollout(env, play_settings(job.config), seed=job.seed, first_game=job.first_game)

    def serve(self) -> None:
        """Plays until told to stop."""
        try:
            while True:
                credit = self._next_credit()
                self._await_weights(credit.min_version)
                self._fill(credit)
        except _StopRequested:
            self._end.status.enter(WorkerState.STOPPED)

    def _next_credit(self) -> Credit:
        while not self._credits:
            self._end.status.enter(WorkerState.WAITING_FOR_SLOT)
            self._listen(IDLE_SECONDS)
        return self._credits.popleft()

    def _await_weights(self, min_version: int) -> None:
        """Nothing is played before the weights that the credit asks for have arrived."""
        while True:
            fetched = self._learner_weights.fetch(self._learner.network.state_dict(), self._version)
            self._version = fetched or self._version
            if self._version >= max(1, min_version):
                break
            self._end.status.enter(WorkerState.WAITING_FOR_WEIGHTS)
            self._listen(IDLE_SECONDS)
        newer = self._opponent_weights.fetch(self._opponent.network.state_dict(), self._opponent_version)
        self._opponent_version = newer or self._opponent_version

    def _fill(self, credit: Credit) -> None:
        rows = self._end.rows(credit.slot)
        summary = None
        while summary is None or summary.stopped:
            if self._reset:
                self._rollout = self._new_rollout()
                self._reset = False
            self._end.status.enter(WorkerState.PLAYING)
            self._ply_began = time.monotonic_ns()
            summary = self._rollout.play(
                rows,
                self._learner,
                version=self._version,
                opponent=self._opponent if self._opponent_version else None,
                should_stop=self._between_plies,
            )
        self._sequence += 1
        self._end.status.delivered(self._version)
        self._end.send(SlotFilled(credit.slot, self._sequence, self._version, summary))

    def _between_plies(self) -> bool:
        """Obeys commands; True when the rows begun must be thrown away."""
        now = time.monotonic_ns()
        self._end.status.played(self._job.games, now - self._ply_began)
        self._listen(0)
        while self._paused:
            self._end.status.enter(WorkerState.PAUSED)
            self._listen(IDLE_SECONDS)
        self._end.status.enter(WorkerState.PLAYING)
        self._ply_began = time.monotonic_ns()
        return self._reset

    def _listen(self, timeout_seconds: float) -> None:
        """Handles every message that is there, waiting for the first."""
        message = self._end.receive(timeout_seconds)
        while message is not None:
            self._handle(message)
            message = self._end.receive(0)
        self._end.status.beat()

    def _handle(self, message: ToWorker) -> None:
        match message:
            case Credit():
                self._credits.append(message)
            case LoadState(state):
                self._load(state)
            case Command.PAUSE:
                self._paused = True
            case Command.RESUME:
                self._paused = False
            case Command.RESET:
                self._reset = True
            case Command.STOP:
                raise _StopRequested
            case Command.SAVE_STATE:
                self._end.send(SavedState(self._state()))

    def _state(self) -> dict[str, Any]:
        return {
            "games": self._rollout.state_arrays(),
            "random": capture_random_states(self._rollout.generators()),
        }

    def _load(self, state: dict[str, Any]) -> None:
        self._rollout.load_state_arrays({name: np.asarray(array) for name, array in state["games"].items()})
        restore_random_states(state["random"], self._rollout.generators())
