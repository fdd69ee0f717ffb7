"""Door 1: from the workers to the trainer, a slot index at a time.

Rows lie in slots of shared memory. Each worker owns its slots for life; a pipe of its own carries credits one way and
filled slots the other. Only a received message makes a slot readable, so a half-written one is never read, and without
a credit a worker waits: back-pressure is built in. No lock is shared, so no death can leave one locked.
"""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np

from keisei.core.rollout_rows import RolloutRows
from keisei.training.parallel.messages import (
    Command,
    Credit,
    Failure,
    FromWorker,
    SavedState,
    SlotFilled,
    ToWorker,
)
from keisei.training.parallel.shared_memory import SharedRegion
from keisei.training.parallel.worker_status import STATUS_BYTES, StatusBoard


@dataclass(frozen=True)
class SlotShape:
    """T plies of N games: what one slot holds."""

    plies: int
    games: int

    @property
    def rows(self) -> int:
        return self.plies * self.games

    @property
    def nbytes(self) -> int:
        return RolloutRows.nbytes(self.plies, self.games)


class WorkerEnd(Protocol):
    """All that a worker knows of the world. Another transport gives it another one of these."""

    @property
    def status(self) -> StatusBoard: ...

    def rows(self, slot: int) -> RolloutRows: ...

    def receive(self, timeout_seconds: float) -> ToWorker | None: ...

    def send(self, message: FromWorker) -> None: ...


class SlotWorkerEnd:
    """The worker's end of the shared-memory transport."""

    def __init__(self, connection: Connection[Any, Any], region: SharedRegion, shape: SlotShape) -> None:
        self._connection = connection
        self._region = region
        self._shape = shape
        self.status = StatusBoard(region.buffer)

    def __reduce__(self) -> tuple[Any, ...]:
        return SlotWorkerEnd, (self._connection, self._region, self._shape)

    def rows(self, slot: int) -> RolloutRows:
        return _rows_of(self._region, self._shape, slot)

    def receive(self, timeout_seconds: float) -> ToWorker | None:
        """The next message, None when there is none in time. EOFError when the trainer is gone."""
        if not self._connection.poll(timeout_seconds):
            return None
        message: ToWorker = self._connection.recv()
        return message

    def send(self, message: FromWorker) -> None:
        self._connection.send(message)


@dataclass(frozen=True)
class ReceivedSlot:
    """A filled slot as the trainer sees it; `rows` lie in shared memory until the slot is released."""

    worker: int
    generation: int
    message: SlotFilled
    rows: RolloutRows


@dataclass
class _Line:
    """The trainer's end to one worker."""

    region: SharedRegion
    connection: Connection[Any, Any]
    worker_connection: Connection[Any, Any]
    generation: int = 1
    free: deque[int] = field(default_factory=deque)
    lent: set[int] = field(default_factory=set)  # slots that the worker may be writing
    filled: set[int] = field(default_factory=set)  # slots whose message has come, not yet released


class WorkerCommunicator:
    """The trainer's end of the shared-memory transport, for any number of workers."""

    def __init__(self, shape: SlotShape, slots_per_worker: int, *, anonymous: bool | None = None) -> None:
        self._shape = shape
        self._slots = slots_per_worker
        self._anonymous = anonymous
        self._context = multiprocessing.get_context("spawn")
        self._lines: dict[int, _Line] = {}
        self.rows_received = 0
        self.slots_lost = 0

    def open(self, worker: int) -> SlotWorkerEnd:
        """Makes the line to a new worker and returns the end to give to its process."""
        region = SharedRegion(
            STATUS_BYTES_ALIGNED + self._slots * self._shape.nbytes, anonymous=self._anonymous
        )
        ours, theirs = self._context.Pipe(duplex=True)
        line = _Line(region, ours, theirs, free=deque(range(self._slots)))
        self._lines[worker] = line
        StatusBoard(region.buffer).begin()
        return SlotWorkerEnd(theirs, region, self._shape)

    def started(self, worker: int) -> None:
        """The process has its end now; ours of it is closed, so that its death shows as the end of the pipe."""
        self._lines[worker].worker_connection.close()

    def reopen(self, worker: int) -> SlotWorkerEnd:
        """After a death: a new generation with a new pipe. Filled slots stay, half-written ones are taken back."""
        line = self._lines[worker]
        self.slots_lost += len(line.lent)
        line.free.extend(sorted(line.lent))
        line.lent.clear()
        line.connection.close()
        line.connection, line.worker_connection = self._context.Pipe(duplex=True)
        line.generation += 1
        StatusBoard(line.region.buffer).begin()
        return SlotWorkerEnd(line.worker_connection, line.region, self._shape)

    def close_line(self, worker: int) -> None:
        """Forgets a worker whose process has ended."""
        line = self._lines.pop(worker)
        line.connection.close()
        line.region.close()

    @property
    def workers(self) -> tuple[int, ...]:
        return tuple(self._lines)

    def generation(self, worker: int) -> int:
        return self._lines[worker].generation

    def lent(self, worker: int) -> int:
        """Slots that the worker has credit for and has not filled."""
        return len(self._lines[worker].lent)

    def free(self, worker: int) -> int:
        """Slots that could be lent."""
        return len(self._lines[worker].free)

    def queue_info(self) -> dict[str, int]:
        """Slots by state over all workers."""
        lines = self._lines.values()
        return {
            "free": sum(len(line.free) for line in lines),
            "lent": sum(len(line.lent) for line in lines),
            "filled": sum(len(line.filled) for line in lines),
        }

    def status(self, worker: int) -> StatusBoard:
        return StatusBoard(self._lines[worker].region.buffer)

    def lend(self, worker: int, min_version: int) -> bool:
        """Gives a worker credit for one slot; False when all of its slots are in use, or it is dead."""
        line = self._lines[worker]
        if not line.free:
            return False
        slot = line.free.popleft()
        if not self._send(line, Credit(slot, min_version)):
            line.free.appendleft(slot)
            return False
        line.lent.add(slot)
        return True

    def tell(self, worker: int, message: ToWorker) -> bool:
        """Sends a message; False when the worker is dead."""
        return self._send(self._lines[worker], message)

    def command(self, command: Command, workers: tuple[int, ...]) -> None:
        for worker in workers:
            self.tell(worker, command)

    def receive(self, timeout_seconds: float) -> Iterator[tuple[int, ReceivedSlot | SavedState | Failure]]:
        """Everything that has come by the first arrival or the timeout. A dead worker's pipe gives what is in it."""
        connections = {
            line.connection: worker for worker, line in self._lines.items() if not line.connection.closed
        }
        for ready in wait(list(connections), timeout_seconds):
            worker = connections[ready]  # type: ignore[index]  # wait() returns what it was given
            yield from ((worker, message) for message in self._drain(worker))

    def _drain(self, worker: int) -> list[ReceivedSlot | SavedState | Failure]:
        line = self._lines[worker]
        received: list[ReceivedSlot | SavedState | Failure] = []
        try:
            while line.connection.poll(0):
                received.append(self._accept(worker, line, line.connection.recv()))
        except (EOFError, OSError):
            # The worker is gone; its sentinel tells the manager.
            line.connection.close()
        return received

    def _accept(self, worker: int, line: _Line, message: FromWorker) -> ReceivedSlot | SavedState | Failure:
        if not isinstance(message, SlotFilled):
            return message
        line.lent.discard(message.slot)
        line.filled.add(message.slot)
        self.rows_received += self._shape.rows
        rows = _rows_of(line.region, self._shape, message.slot)
        return ReceivedSlot(worker, line.generation, message, rows)

    def release(self, received: ReceivedSlot) -> None:
        """The trainer has what it wants of a slot: it may be filled again."""
        line = self._lines.get(received.worker)
        if line is None:
            return
        line.filled.discard(received.message.slot)
        line.free.append(received.message.slot)

    def _send(self, line: _Line, message: ToWorker) -> bool:
        try:
            line.connection.send(message)
        except (BrokenPipeError, ConnectionResetError, OSError):
            return False
        return True

    def close(self) -> None:
        """Forgets all workers."""
        for worker in self.workers:
            self.close_line(worker)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


#: The status words come first, alone on their cache line.
STATUS_BYTES_ALIGNED = -(-STATUS_BYTES // 64) * 64


def _rows_of(region: SharedRegion, shape: SlotShape, slot: int) -> RolloutRows:
    start = STATUS_BYTES_ALIGNED + slot * shape.nbytes
    return RolloutRows.from_buffer(region.buffer[start : start + shape.nbytes], shape.plies, shape.games)


def copied(rows: RolloutRows) -> RolloutRows:
    """Rows in private memory."""
    return RolloutRows(**{name: np.array(array) for name, array in rows.arrays().items()})
