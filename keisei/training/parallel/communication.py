"""Door 1: from the workers to the trainer, a slot index at a time.

Rows lie in slots of shared memory. Each worker owns its slots for life; a channel of its own carries credits one way
and filled slots the other. Only a received message makes a slot readable, so a half-written one is never read, and
without a credit a worker waits: back-pressure is built in. No lock is shared, so no death can leave one locked.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from keisei.core.rollout_rows import RolloutRows
from keisei.training.parallel.channel import Channel, ChannelWatch
from keisei.training.parallel.messages import Credit, Failure, FromWorker, SavedState, SlotFilled, ToWorker
from keisei.training.parallel.shared_memory import SharedRegion, new_region
from keisei.training.parallel.worker_status import STATUS_BYTES, StatusBoard

#: The status words come first, alone on their cache line.
SLOTS_START = -(-STATUS_BYTES // 64) * 64


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

    def rows_in(self, region: SharedRegion, slot: int) -> RolloutRows:
        """The rows of a slot, in place."""
        start = SLOTS_START + slot * self.nbytes
        return RolloutRows.from_buffer(region.buffer[start : start + self.nbytes], self.plies, self.games)


class TrainerGoneError(Exception):
    """The other end of a worker's channel is closed: nobody is left to play for."""


class WorkerEnd(Protocol):
    """All that a worker knows of the world. Another transport gives it another one of these."""

    @property
    def status(self) -> StatusBoard: ...

    def rows(self, slot: int) -> RolloutRows: ...

    def receive(self, timeout_seconds: float) -> list[ToWorker]:
        """The messages that are there, waiting for the first; TrainerGoneError when no more can come."""
        ...

    def send(self, message: FromWorker) -> None:
        """Hands a message over without waiting; one that is larger than the link goes on with the next `receive`."""
        ...

    def flush(self, timeout_seconds: float) -> None:
        """Waits until all messages have left."""
        ...


class SlotWorkerEnd:
    """The worker's end of the shared-memory transport."""

    def __init__(self, channel: Channel, region: SharedRegion, shape: SlotShape) -> None:
        self._channel = channel
        self._region = region
        self._shape = shape
        self._rows: dict[int, RolloutRows] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return SlotWorkerEnd, (self._channel, self._region, self._shape)

    @cached_property
    def status(self) -> StatusBoard:
        return StatusBoard(self._region.buffer)

    @cached_property
    def _watch(self) -> ChannelWatch:
        watch = ChannelWatch()
        watch.add(self._channel)
        return watch

    def rows(self, slot: int) -> RolloutRows:
        if slot not in self._rows:
            self._rows[slot] = self._shape.rows_in(self._region, slot)
        return self._rows[slot]

    def receive(self, timeout_seconds: float) -> list[ToWorker]:
        self._channel.flush()
        if timeout_seconds > 0 and not self._channel.ended:
            self._watch.wait(timeout_seconds)
        messages: list[ToWorker] = self._channel.receive()
        if not messages and self._channel.ended:
            raise TrainerGoneError
        return messages

    def send(self, message: FromWorker) -> None:
        self._channel.send(message)

    def flush(self, timeout_seconds: float) -> None:
        deadline = time.monotonic() + timeout_seconds
        while self._channel.unsent and (left := deadline - time.monotonic()) > 0:
            self._watch.wait(left)


class ReceivedSlot(NamedTuple):
    """A filled slot as the trainer sees it; `rows` lie in shared memory until the slot is released."""

    worker: int
    generation: int
    message: SlotFilled
    rows: RolloutRows


Received = ReceivedSlot | SavedState | Failure


class _Line:
    """The trainer's end to one worker: its memory for good, and a channel for each of its lives."""

    def __init__(self, region: SharedRegion, shape: SlotShape, slots: int) -> None:
        self.region = region
        self.rows = [shape.rows_in(region, slot) for slot in range(slots)]
        self.status = StatusBoard(region.buffer)
        self.generation = 0
        self.channel: Channel | None = None
        self.worker_channel: Channel | None = None
        self.free = deque(range(slots))
        self.lent: set[int] = set()  # slots that the worker may be writing
        self.received = 0  # slots that this life of the worker has delivered

    def connect(self) -> Channel:
        """A new life begins; returns the end for its process."""
        self.channel, theirs = Channel.pair()
        self.worker_channel = theirs
        self.generation += 1
        self.received = 0
        self.status.begin()
        return theirs

    def forget_worker_channel(self) -> None:
        if self.worker_channel is not None:
            self.worker_channel.close()
            self.worker_channel = None

    def close(self) -> None:
        self.forget_worker_channel()
        self.rows.clear()
        del self.status
        self.region.close()


class WorkerCommunicator:
    """The trainer's end of the shared-memory transport, for any number of workers."""

    def __init__(self, shape: SlotShape, slots_per_worker: int, *, anonymous: bool | None = None) -> None:
        self._shape = shape
        self._slots = slots_per_worker
        self._anonymous = anonymous
        self._lines: dict[int, _Line] = {}
        self._watch = ChannelWatch()
        self.rows_received = 0
        #: Plies that workers had played when they died, and had not delivered.
        self.rows_lost = 0

    # ---- lines

    def open(self, worker: int) -> None:
        """Makes the memory of a new worker."""
        region = new_region(SLOTS_START + self._slots * self._shape.nbytes, anonymous=self._anonymous)
        self._lines[worker] = _Line(region, self._shape, self._slots)

    def connect(self, worker: int) -> SlotWorkerEnd:
        """Begins a life of a worker, its first or the next; returns the end to give to its process."""
        line = self._lines[worker]
        theirs = line.connect()
        if line.channel is not None:
            self._watch.add(line.channel)
        return SlotWorkerEnd(theirs, line.region, self._shape)

    def started(self, worker: int) -> None:
        """The process has its end now; ours of it is closed, so that its death shows as the end of the channel."""
        self._lines[worker].forget_worker_channel()

    def disconnect(self, worker: int) -> list[Received]:
        """After a death: what the worker said last. What it had begun is lost, and its slots can be lent again."""
        line = self._lines[worker]
        if line.channel is None:
            return []
        last_words: list[Received] = []
        while messages := self._drain(worker):
            last_words += messages
        self.rows_lost += max(0, line.status.plies - line.received * self._shape.rows)
        line.free.extend(sorted(line.lent))
        line.lent.clear()
        self._watch.remove(line.channel)
        line.channel.close()
        line.channel = None
        return last_words

    def close_line(self, worker: int) -> None:
        """Forgets a worker whose process has ended."""
        self.disconnect(worker)
        self._lines.pop(worker).close()

    # ---- facts

    @property
    def workers(self) -> tuple[int, ...]:
        return tuple(self._lines)

    def generation(self, worker: int) -> int:
        """Which life of the worker this is, from 1."""
        return self._lines[worker].generation

    def is_connected(self, worker: int) -> bool:
        """Whether a life of the worker has begun and has not been found to be over."""
        return self._lines[worker].channel is not None

    def has_ended(self, worker: int) -> bool:
        """Whether the worker's process has closed its end, which it does only by ending."""
        channel = self._lines[worker].channel
        return channel is not None and channel.ended

    def lent(self, worker: int) -> int:
        """Slots that the worker has credit for and that have not arrived."""
        return len(self._lines[worker].lent)

    def status(self, worker: int) -> StatusBoard:
        return self._lines[worker].status

    def queue_info(self) -> dict[str, int]:
        """Slots by state over all workers: free, being filled, and filled but not yet received."""
        lines = [line for line in self._lines.values() if line.channel is not None]
        filled = sum(max(0, line.status.slots - line.received) for line in lines)
        return {
            "free": sum(len(line.free) for line in self._lines.values()),
            "lent": sum(len(line.lent) for line in lines) - filled,
            "filled": filled,
        }

    # ---- messages

    def lend(self, worker: int, min_version: int) -> bool:
        """Gives a worker credit for one slot; False when all of its slots are in use, or it is dead."""
        line = self._lines[worker]
        if not line.free or not self.tell(worker, Credit(line.free[0], min_version)):
            return False
        line.lent.add(line.free.popleft())
        return True

    def tell(self, worker: int, message: ToWorker) -> bool:
        """Sends a message, now or as soon as the worker takes it; False when the worker is dead."""
        channel = self._lines[worker].channel
        if channel is None:
            return False
        channel.send(message)
        return not channel.ended

    def receive(self, timeout_seconds: float) -> list[tuple[int, Received]]:
        """Everything that has come by the first arrival or the timeout."""
        ready = self._watch.wait(timeout_seconds)
        return [
            (worker, message)
            for worker, line in self._lines.items()
            if line.channel in ready
            for message in self._drain(worker)
        ]

    def _drain(self, worker: int) -> list[Received]:
        line = self._lines[worker]
        messages: list[FromWorker] = line.channel.receive() if line.channel is not None else []
        return [self._accept(worker, line, message) for message in messages]

    def _accept(self, worker: int, line: _Line, message: FromWorker) -> Received:
        if not isinstance(message, SlotFilled):
            return message
        line.lent.discard(message.slot)
        line.received += 1
        self.rows_received += self._shape.rows
        return ReceivedSlot(worker, line.generation, message, line.rows[message.slot])

    def release(self, received: ReceivedSlot) -> None:
        """The trainer has what it wants of a slot: it may be filled again."""
        if received.worker in self._lines:
            self._lines[received.worker].free.append(received.message.slot)

    # ---- end

    def close(self) -> None:
        """Forgets all workers."""
        for worker in self.workers:
            self.close_line(worker)
        self._watch.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def copied(rows: RolloutRows) -> RolloutRows:
    """Rows in private memory."""
    return RolloutRows(**{name: np.array(array) for name, array in rows.arrays().items()})
