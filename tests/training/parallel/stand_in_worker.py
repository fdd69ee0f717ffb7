"""A worker without PyTorch: it starts in a fraction of a second, plays random moves and keeps a ledger of its own.

All else is as in the real one: the process, the channel, the slots, the status words, the obedience.
"""

import os
import zlib
from collections import deque
from contextlib import suppress
from multiprocessing.context import SpawnProcess
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from keisei.core.rollout_rows import RolloutRows
from keisei.shogi import ShogiVectorEnv
from keisei.training.parallel.communication import TrainerGoneError, WorkerEnd
from keisei.training.parallel.messages import Command, Credit, SavedState, SlotFilled
from keisei.training.parallel.self_play_worker import die_with_parent
from keisei.training.parallel.worker_status import WorkerState

IDLE_SECONDS = 0.05
MAX_PLIES = 60


class Entry(NamedTuple):
    """One slot: who filled it, and what was in it."""

    worker: int
    generation: int
    sequence: int
    checksum: int


def checksum(rows: RolloutRows) -> int:
    total = 0
    for array in rows.arrays().values():
        total = zlib.crc32(np.ascontiguousarray(array), total)
    return total


def read_ledger(folder: Path) -> list[Entry]:
    """What all workers wrote down, each in its order."""
    lines = [line for path in sorted(folder.iterdir()) for line in path.read_text().splitlines()]
    return [Entry(*map(int, line.split())) for line in lines]


class Life(NamedTuple):
    """What a stand-in has to know."""

    worker: int
    generation: int
    games: int
    seed: int
    first_game: int


class StandInWorker(SpawnProcess):
    def __init__(self, life: Life, end: WorkerEnd, ledger: Path) -> None:
        super().__init__(name=f"stand-in-{life.worker}", daemon=True)
        self._life = life
        self._end = end
        self._ledger = ledger

    def run(self) -> None:
        die_with_parent()
        with suppress(TrainerGoneError, _StopRequestedError):
            _RandomPlay(self._life, self._end, self._ledger).serve()
        os._exit(0)


class _StopRequestedError(Exception):
    pass


class _RandomPlay:
    def __init__(self, life: Life, end: WorkerEnd, ledger: Path) -> None:
        self._life = life
        self._end = end
        self._env = ShogiVectorEnv(life.games, life.seed, 1, max_plies=MAX_PLIES)
        self._game = np.arange(life.first_game, life.first_game + life.games)
        self._next_game = life.first_game + life.games
        self._credits: deque[Credit] = deque()
        self._paused = False
        self._version = 1  # the newest that it was told of
        name = f"{life.worker}-{life.generation}"
        # Unbuffered: what is written survives the death of the process.
        self._ledger = (ledger / name).open("wb", buffering=0)

    def serve(self) -> None:
        self._end.status.ready()
        for sequence in range(1, 1 << 62):
            credit = self._next_credit()
            rows = self._end.rows(credit.slot)
            version = self._version
            for ply in range(len(rows.action)):
                self._listen(0)
                while self._paused:
                    self._wait()
                self._play_ply(rows[ply], version)
            entry = Entry(self._life.worker, self._life.generation, sequence, checksum(rows))
            self._ledger.write((" ".join(map(str, entry)) + "\n").encode())
            self._end.status.delivered()
            summary = SimpleNamespace(plies=rows.action.size)
            self._end.send(SlotFilled(credit.slot, sequence, version, summary))  # type: ignore[arg-type]

    def _play_ply(self, row: RolloutRows, version: int) -> None:
        env = self._env
        self._end.status.enter(WorkerState.PLAYING)
        row.record[:] = env.records
        row.game[:] = self._game
        row.version[:] = version
        row.action[:] = env.random_actions()
        env.step(row.action)
        row.reward[:], row.terminated[:], row.truncated[:] = env.rewards, env.terminated, env.truncated
        ended = np.flatnonzero(env.terminated | env.truncated)
        self._game[ended] = np.arange(self._next_game, self._next_game + len(ended))
        self._next_game += len(ended)
        self._end.status.played(self._life.games, 1)

    def _next_credit(self) -> Credit:
        while not self._credits:
            self._wait()
        return self._credits.popleft()

    def _wait(self) -> None:
        self._end.status.enter(WorkerState.PAUSED if self._paused else WorkerState.WAITING_FOR_SLOT)
        self._listen(IDLE_SECONDS)

    def _listen(self, timeout_seconds: float) -> None:
        for message in self._end.receive(timeout_seconds):
            match message:
                case Credit():
                    self._credits.append(message)
                    self._version = max(self._version, message.min_version)
                case Command.PAUSE:
                    self._paused = True
                case Command.RESUME:
                    self._paused = False
                case Command.STOP:
                    raise _StopRequestedError
                case Command.SAVE_STATE:
                    self._end.send(SavedState({"games": {"game": self._game.copy()}}))
