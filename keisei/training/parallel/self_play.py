"""What a worker process does: plays many games at once, fills slots, obeys at once."""

from __future__ import annotations

import time
from collections import deque
from contextlib import ExitStack
from typing import Any

import numpy as np
import torch

from keisei.core.inference import Inference
from keisei.core.model_factory import model_factory
from keisei.core.random_states import capture_random_states, restore_random_states
from keisei.core.rollout import Rollout, RolloutSummary
from keisei.core.rollout_rows import RolloutRows
from keisei.shogi.policy import action_count
from keisei.training.environments import make_env, opened_anchors, play_settings
from keisei.training.parallel.communication import WorkerEnd
from keisei.training.parallel.messages import Command, Credit, LoadState, SavedState, SlotFilled, ToWorker
from keisei.training.parallel.model_sync import WeightsReader
from keisei.training.parallel.self_play_worker import WorkerJob
from keisei.training.parallel.worker_plan import opponent_number
from keisei.training.parallel.worker_status import WorkerState

#: How long a waiting worker sleeps before it shows that it is alive. Messages wake it at once.
IDLE_SECONDS = 0.05


class _StopRequested(Exception):  # noqa: N818 an order, not an error
    """The trainer wants the worker to end."""


class SelfPlay:
    """The life of a worker, inside its process."""

    def __init__(
        self, job: WorkerJob, end: WorkerEnd, learner_weights: WeightsReader, opponent_weights: WeightsReader
    ) -> None:
        torch.set_num_threads(1)
        self._job = job
        self._end = end
        self._status = end.status
        self._learner_weights = learner_weights
        self._opponent_weights = opponent_weights
        self._learner = self._inference()
        self._opponent = self._inference()
        self._version = 0
        self._opponent_version = 0
        self._engines = ExitStack()
        self._anchors = self._engines.enter_context(opened_anchors(job.config, seed=job.seed, device="cpu"))
        self._rollout = self._new_rollout(job.seed, job.first_game)
        self._credits: deque[Credit] = deque()
        self._paused = False
        self._fresh_games: deque[LoadState | None] = deque()  # orders to throw the present games away
        self._sequence = 0
        self._plies_in_slot = 0
        self._ply_began: int | None = None  # on the clock of `time.monotonic_ns`

    def _inference(self) -> Inference:
        config = self._job.config
        network = model_factory(config.model, action_count(config.env.actions)).requires_grad_(False)
        return Inference(network, device=torch.device("cpu"), precision=config.training.precision)

    def _new_rollout(self, seed: int, first_game: int) -> Rollout:
        job = self._job
        env = make_env(job.config, num_games=job.games, seed=seed, num_threads=1)
        return Rollout(
            env, play_settings(job.config), seed=seed, first_game=first_game, anchors=self._anchors
        )

    def serve(self) -> None:
        """Plays until told to stop."""
        self._status.ready()
        try:
            while True:
                credit = self._next_credit()
                self._await_weights(credit.min_version)
                self._fill(credit)
        except _StopRequested:
            self._status.enter(WorkerState.STOPPED)
        finally:
            self._engines.close()

    # ---- waiting

    def _next_credit(self) -> Credit:
        while self._paused or not self._credits:
            self._wait(WorkerState.WAITING_FOR_SLOT)
        return self._credits.popleft()

    def _await_weights(self, min_version: int) -> None:
        """Nothing is played before the weights that the credit asks for have arrived."""
        while not self._fetch(max(1, min_version)):
            self._wait(WorkerState.WAITING_FOR_WEIGHTS)
        newer = self._opponent_weights.fetch(self._opponent.network.state_dict(), self._opponent_version)
        self._opponent_version = newer or self._opponent_version

    def _fetch(self, min_version: int) -> bool:
        newer = self._learner_weights.fetch(self._learner.network.state_dict(), self._version)
        self._version = newer or self._version
        self._status.uses(self._version)
        return self._version >= min_version

    def _wait(self, state: WorkerState) -> None:
        self._status.enter(WorkerState.PAUSED if self._paused else state)
        self._listen(IDLE_SECONDS)
        self._begin_anew_if_told()

    # ---- playing

    def _fill(self, credit: Credit) -> None:
        rows = self._end.rows(credit.slot)
        summary = self._play(rows)
        while summary.stopped:
            self._status.played(-self._plies_in_slot, 0)
            self._begin_anew_if_told()
            summary = self._play(rows)
        self._sequence += 1
        self._status.delivered()
        self._end.send(SlotFilled(credit.slot, self._sequence, self._version, summary))

    def _play(self, rows: RolloutRows) -> RolloutSummary:
        self._plies_in_slot = 0
        self._ply_began = None
        summary = self._rollout.play(
            rows,
            self._learner,
            version=self._version,
            opponent=self._opponent if self._opponent_version else None,
            opponent_number=opponent_number(self._opponent_version) or 1,
            should_stop=self._between_plies,
        )
        if not summary.stopped:
            self._count_ply()
        return summary

    def _between_plies(self) -> bool:
        """Obeys orders before a ply; True when the rows begun must be thrown away."""
        self._count_ply()
        self._listen(0)
        while self._paused and not self._fresh_games:
            self._status.enter(WorkerState.PAUSED)
            self._listen(IDLE_SECONDS)
        self._status.enter(WorkerState.PLAYING)
        self._ply_began = time.monotonic_ns()
        return bool(self._fresh_games)

    def _count_ply(self) -> None:
        """Counts the ply that was begun last, if there is one."""
        if self._ply_began is None:
            return
        self._plies_in_slot += self._job.games
        self._status.played(self._job.games, time.monotonic_ns() - self._ply_began)

    # ---- orders

    def _listen(self, timeout_seconds: float) -> None:
        """Handles every message that is there, waiting for the first."""
        for message in self._end.receive(timeout_seconds):
            self._handle(message)
        self._status.beat()

    def _handle(self, message: ToWorker) -> None:
        match message:
            case Credit():
                self._credits.append(message)
            case Command.PAUSE:
                self._paused = True
            case Command.RESUME:
                self._paused = False
            case Command.STOP:
                raise _StopRequested
            case Command.SAVE_STATE:
                self._end.send(SavedState(self._state()))
            case Command.RESET:
                self._fresh_games.append(None)
            case LoadState():
                self._fresh_games.append(message)

    def _begin_anew_if_told(self) -> None:
        while self._fresh_games:
            loaded = self._fresh_games.popleft()
            if loaded is None:
                self._reset()
            else:
                self._load(loaded.state)

    def _reset(self) -> None:
        next_game = int(self._rollout.state_arrays()["next_game"][0])
        # Other games than those thrown away: their numbers never come again, so neither do these seeds.
        seed = np.random.SeedSequence([self._job.seed, next_game]).generate_state(1, np.uint64)[0]
        self._rollout = self._new_rollout(int(seed >> 1), next_game)

    def _load(self, state: dict[str, Any]) -> None:
        self._rollout.load_state_arrays({name: np.asarray(array) for name, array in state["games"].items()})
        restore_random_states(state["random"], self._rollout.generators())

    def _state(self) -> dict[str, Any]:
        return {
            "games": self._rollout.state_arrays(),
            "random": capture_random_states(self._rollout.generators()),
        }
