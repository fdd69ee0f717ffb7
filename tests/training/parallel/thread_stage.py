"""A worker's self-play in a thread of the test process: real doors, no start of a process."""

import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import TypeVar

from torch import Tensor
from worker_samples import PATIENCE_SECONDS, network, until

from keisei.config_schema import AppConfig
from keisei.core.rollout_rows import RolloutRows
from keisei.training.parallel import ModelSynchronizer, WorkerCommunicator
from keisei.training.parallel.communication import ReceivedSlot, SlotShape, TrainerGoneError, copied
from keisei.training.parallel.messages import Command, LoadState, SavedState
from keisei.training.parallel.self_play import SelfPlay
from keisei.training.parallel.self_play_worker import WorkerJob
from keisei.training.parallel.worker_status import WorkerState

Answer = TypeVar("Answer", ReceivedSlot, SavedState)


class CountingReader:
    """Weights from a synchronizer, and which versions were unpacked."""

    def __init__(self, source: ModelSynchronizer) -> None:
        self._source = source
        self.unpacked: list[int] = []

    def fetch(self, into: Mapping[str, Tensor], newer_than: int) -> int | None:
        version = self._source.fetch(into, newer_than)
        if version is not None:
            self.unpacked.append(version)
        return version


class Stage:
    """One worker in a thread, and the trainer's ends of its doors."""

    def __init__(self, config: AppConfig, shape: SlotShape, *, seed: int = 1, first_game: int = 0) -> None:
        self.config = config
        self.communicator = WorkerCommunicator(shape, slots_per_worker=2)
        self.communicator.open(0)
        weights = network(config).state_dict()
        self.learner, self.opponent = ModelSynchronizer(weights), ModelSynchronizer(weights)
        self.reader = CountingReader(self.learner)
        self.status = self.communicator.status(0)
        job = WorkerJob(0, config, shape.games, seed, first_game)
        player = SelfPlay(job, self.communicator.connect(0), self.reader, self.opponent)
        self.thread = threading.Thread(target=self._serve, args=(player,), daemon=True)
        self.thread.start()

    @staticmethod
    def _serve(player: SelfPlay) -> None:
        with suppress(TrainerGoneError):
            player.serve()

    def publish(self, version: int, seed: int = 0) -> None:
        self.learner.publish(network(self.config, seed).state_dict(), version)

    def lend(self, min_version: int = 1) -> None:
        assert self.communicator.lend(0, min_version)

    def tell(self, order: Command | LoadState) -> None:
        assert self.communicator.tell(0, order)

    def reaches(self, state: WorkerState) -> float:
        """Waits for a state; returns the seconds it took."""
        return until(lambda: self.status.state is state)

    def plays(self, plies: int) -> None:
        """Waits until so many more plies are played."""
        wanted = self.status.plies + plies
        until(lambda: self.status.plies >= wanted)

    def take(self) -> tuple[ReceivedSlot, RolloutRows]:
        """The next filled slot, and a copy of its rows; the slot is released."""
        slot = self._answer(ReceivedSlot)
        rows = copied(slot.rows)
        self.communicator.release(slot)
        return slot, rows

    def saved_state(self) -> SavedState:
        self.tell(Command.SAVE_STATE)
        return self._answer(SavedState)

    def _answer(self, kind: type[Answer]) -> Answer:
        found: list[Answer] = []

        def has_come() -> bool:
            found.extend(m for _, m in self.communicator.receive(0.01) if isinstance(m, kind))
            return bool(found)

        until(has_come)
        return found[0]

    def stop(self) -> None:
        self.communicator.tell(0, Command.STOP)
        self.thread.join(PATIENCE_SECONDS)
        assert not self.thread.is_alive()

    def close(self) -> None:
        self.stop()
        del self.status
        self.communicator.close()
        self.learner.close()
        self.opponent.close()
