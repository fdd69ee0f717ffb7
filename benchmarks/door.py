"""The door between processes: slots in shared memory beside multiprocessing.Queue and Pipe, in one run.

Throughput: a process copies 1 MiB of rows into the medium, this one copies them out into memory of its own. Round trip:
this process asks, the other one answers, without any rows.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any

import numpy as np
from figures import Figures

from keisei.core.rollout_rows import RolloutRows
from keisei.training.parallel import WorkerCommunicator
from keisei.training.parallel.communication import ReceivedSlot, SlotShape, TrainerGoneError, WorkerEnd
from keisei.training.parallel.messages import Credit, SlotFilled

MIB = 1 << 20
PLIES = 64
SLOTS = 4
ROUND_TRIPS = 3000
WARM_UP = 20
SPAWN = multiprocessing.get_context("spawn")
STOP, ASK = "stop", "ask"
NO_ROWS = -1


def sample_rows(shape: SlotShape) -> RolloutRows:
    rows = RolloutRows.allocate(shape.plies, shape.games)
    generator = np.random.default_rng(0)
    for array in rows.arrays().values():
        array[:] = generator.integers(0, 2, array.shape)
    return rows


def slot_shape(nbytes: int) -> SlotShape:
    return SlotShape(PLIES, nbytes // (PLIES * RolloutRows.bytes_per_row()))


# ---- slots


def fill_slots(end: WorkerEnd, shape: SlotShape) -> None:
    rows = sample_rows(shape)
    try:
        while True:
            for message in end.receive(1.0):
                if isinstance(message, Credit):
                    if message.min_version != NO_ROWS:
                        end.rows(message.slot)[:] = rows
                    end.send(SlotFilled(message.slot, 0, 0, None))  # type: ignore[arg-type]  # nobody reads it
    except TrainerGoneError:
        return


class Slots:
    def __init__(self, shape: SlotShape) -> None:
        self._communicator = WorkerCommunicator(shape, SLOTS)
        self._communicator.open(0)
        end = self._communicator.connect(0)
        self._process = SPAWN.Process(target=fill_slots, args=(end, shape), daemon=True)
        self._process.start()
        self._communicator.started(0)

    def transfer(self, target: RolloutRows, count: int) -> None:
        received, asked = 0, 0
        while received < count:
            while asked < count and self._communicator.lend(0, 1):
                asked += 1
            for _, message in self._communicator.receive(10):
                if isinstance(message, ReceivedSlot):
                    target[:] = message.rows
                    self._communicator.release(message)
                    received += 1

    def round_trip(self) -> None:
        self._communicator.lend(0, NO_ROWS)
        while not (messages := self._communicator.receive(10)):
            pass
        for _, message in messages:
            if isinstance(message, ReceivedSlot):
                self._communicator.release(message)

    def close(self) -> None:
        self._communicator.close()
        self._process.join()


# ---- the pickled ways


def serve(receive: Callable[[], Any], send: Callable[[Any], None], shape: SlotShape) -> None:
    rows = sample_rows(shape)
    while (request := receive()) != STOP:
        send(rows if request != ASK else None)


def serve_pipe(connection: Connection[Any, Any], shape: SlotShape) -> None:
    serve(connection.recv, connection.send, shape)


def serve_queues(requests: Queue[Any], answers: Queue[Any], shape: SlotShape) -> None:
    serve(requests.get, answers.put, shape)


class Pickled:
    """A way on which rows travel as messages; SLOTS of them may be under way, as with slots."""

    def __init__(
        self, process: SpawnProcess, send: Callable[[Any], None], receive: Callable[[], Any]
    ) -> None:
        self._process = process
        self._send = send
        self._receive = receive
        process.start()

    @classmethod
    def pipe(cls, shape: SlotShape) -> Pickled:
        ours, theirs = SPAWN.Pipe()
        return cls(SPAWN.Process(target=serve_pipe, args=(theirs, shape), daemon=True), ours.send, ours.recv)

    @classmethod
    def queue(cls, shape: SlotShape) -> Pickled:
        requests, answers = SPAWN.Queue(), SPAWN.Queue()
        process = SPAWN.Process(target=serve_queues, args=(requests, answers, shape), daemon=True)
        return cls(process, requests.put, answers.get)

    def transfer(self, target: RolloutRows, count: int) -> None:
        for _ in range(min(SLOTS, count)):
            self._send("rows")
        for received in range(count):
            target[:] = self._receive()
            if received + SLOTS < count:
                self._send("rows")

    def round_trip(self) -> None:
        self._send(ASK)
        self._receive()

    def close(self) -> None:
        self._send(STOP)
        self._process.join()


WAYS: dict[str, Callable[[SlotShape], Slots | Pickled]] = {
    "slots in shared memory": Slots,
    "multiprocessing.Pipe": Pickled.pipe,
    "multiprocessing.Queue": Pickled.queue,
}


@contextmanager
def opened(name: str, shape: SlotShape) -> Iterator[Slots | Pickled]:
    way = WAYS[name](shape)
    try:
        yield way
    finally:
        way.close()


def measure(name: str, shape: SlotShape, transfers: int, figures: Figures) -> None:
    target = RolloutRows.allocate(shape.plies, shape.games)
    with opened(name, shape) as way:
        way.transfer(target, WARM_UP)
        began = time.perf_counter()
        way.transfer(target, transfers)
        seconds = time.perf_counter() - began
        nbytes = transfers * shape.rows * RolloutRows.bytes_per_row()
        figures.note("door: rows through, 1 MiB at a time", name, "B/s", nbytes / seconds)
        for _ in range(WARM_UP):
            way.round_trip()
        began = time.perf_counter()
        for _ in range(ROUND_TRIPS):
            way.round_trip()
        figures.note("door: round trip", name, "µs", 1e6 * (time.perf_counter() - began) / ROUND_TRIPS)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--transfers", type=int, default=2000, help="slots of 1 MiB a repetition")
    parser.add_argument("--results", type=Path, default=None, help="file to append the figures to")
    options = parser.parse_args()
    figures = Figures()
    shape = slot_shape(MIB)
    for _ in range(options.repetitions):
        for name in WAYS:
            measure(name, shape, options.transfers, figures)
    figures.finish(options.results)


if __name__ == "__main__":
    main()
