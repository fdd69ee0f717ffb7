"""The door between processes, with both ends in this process: credits, slots, lives, accounts."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from process_watch import open_descriptors

from keisei.core.rollout import RolloutSummary
from keisei.training.parallel import WorkerCommunicator
from keisei.training.parallel.communication import (
    ReceivedSlot,
    SlotShape,
    SlotWorkerEnd,
    TrainerGoneError,
    copied,
)
from keisei.training.parallel.messages import Command, Credit, Failure, SavedState, SlotFilled

SHAPE = SlotShape(plies=3, games=5)


def fill(end: SlotWorkerEnd, slot: int, sequence: int, value: int) -> None:
    """What a worker does with a credit."""
    end.rows(slot).action[:] = value
    end.status.played(SHAPE.rows, 1)
    end.status.delivered()
    end.send(SlotFilled(slot, sequence, 1, RolloutSummary()))


def received_slots(communicator: WorkerCommunicator) -> list[ReceivedSlot]:
    return [message for _, message in communicator.receive(0) if isinstance(message, ReceivedSlot)]


def test_a_row_walks_through_the_door_and_the_slot_comes_back() -> None:
    with WorkerCommunicator(SHAPE, slots_per_worker=1) as communicator:
        communicator.open(7)
        end = communicator.connect(7)
        assert communicator.lend(7, min_version=4)
        assert not communicator.lend(7, min_version=4), "its only slot is in use"
        assert end.receive(0) == [Credit(0, 4)]
        fill(end, 0, sequence=1, value=42)
        (received,) = received_slots(communicator)
        assert (received.worker, received.generation, received.message.sequence) == (7, 1, 1)
        assert (received.rows.action == 42).all()
        assert not communicator.lend(7, 4), "the trainer still reads it"
        communicator.release(received)
        assert communicator.lend(7, 4)


def test_rows_in_private_memory_outlive_the_slot() -> None:
    with WorkerCommunicator(SHAPE, 1) as communicator:
        communicator.open(0)
        end = communicator.connect(0)
        communicator.lend(0, 1)
        fill(end, 0, 1, value=5)
        (received,) = received_slots(communicator)
        rows = copied(received.rows)
        end.rows(0).action[:] = 6
        assert (rows.action == 5).all()
        assert not any(
            np.shares_memory(a, b) for a in rows.arrays().values() for b in received.rows.arrays().values()
        )


def test_w1_a_worker_without_credit_has_nothing_to_fill_and_nothing_is_dropped() -> None:
    with WorkerCommunicator(SHAPE, slots_per_worker=2) as communicator:
        communicator.open(0)
        end = communicator.connect(0)
        assert [communicator.lend(0, 1) for _ in range(3)] == [True, True, False]
        messages = end.receive(0)
        assert [message.slot for message in messages if isinstance(message, Credit)] == [0, 1]
        for sequence in (1, 2):
            fill(end, sequence - 1, sequence, sequence)
        assert end.receive(0) == [], "no credit before the trainer has taken something"
        slots = received_slots(communicator)
        assert [slot.message.sequence for slot in slots] == [1, 2]


def test_a_half_written_slot_is_never_read_and_can_be_lent_to_the_next_life() -> None:
    with WorkerCommunicator(SHAPE, 1) as communicator:
        communicator.open(0)
        end = communicator.connect(0)
        communicator.lend(0, 1)
        end.rows(0).action[:1] = 9
        end.status.played(SHAPE.games, 1)
        communicator.started(0)  # closes the worker's end, as its death would
        assert communicator.receive(1) == []
        assert communicator.has_ended(0)
        assert communicator.disconnect(0) == []
        assert not communicator.is_connected(0)
        assert communicator.rows_lost == SHAPE.games
        assert not communicator.lend(0, 1), "nobody is there"
        communicator.connect(0)
        assert communicator.generation(0) == 2
        assert communicator.lend(0, 1)


def test_what_a_worker_delivered_before_its_death_is_not_lost() -> None:
    with WorkerCommunicator(SHAPE, 2) as communicator:
        communicator.open(0)
        end = communicator.connect(0)
        communicator.lend(0, 1)
        communicator.lend(0, 1)
        fill(end, 0, 1, value=1)
        end.rows(1).action[:] = 2
        end.status.played(SHAPE.games, 1)
        end.send(Failure("boom", "traceback"))
        communicator.started(0)
        slot, failure = communicator.disconnect(0)
        assert isinstance(slot, ReceivedSlot)
        assert (slot.rows.action == 1).all()
        assert failure == Failure("boom", "traceback")
        assert communicator.rows_received == SHAPE.rows
        assert communicator.rows_lost == SHAPE.games
        assert communicator.disconnect(0) == []
        assert communicator.rows_lost == SHAPE.games, "counted once"


def test_a_dead_trainer_is_noticed() -> None:
    communicator = WorkerCommunicator(SHAPE, 1)
    communicator.open(0)
    end = communicator.connect(0)
    channel = communicator._lines[0].channel
    assert channel is not None
    channel.send(Command.PAUSE)
    channel.close()
    assert end.receive(0) == [Command.PAUSE], "what it said before comes first"
    with pytest.raises(TrainerGoneError):
        end.receive(10)


def test_b6_a_state_larger_than_any_pipe_goes_both_ways() -> None:
    state = {"games": np.arange(1 << 18)}
    with WorkerCommunicator(SHAPE, 1) as communicator:
        communicator.open(0)
        end = communicator.connect(0)
        end.send(SavedState(state))
        answers: list[object] = []
        while not answers:
            end.flush(0.001)
            answers = [message for _, message in communicator.receive(0)]
        (answer,) = answers
        assert isinstance(answer, SavedState)
        assert np.array_equal(answer.state["games"], state["games"])


def test_nothing_is_left_open() -> None:
    descriptors = open_descriptors()
    for _ in range(3):
        with WorkerCommunicator(SHAPE, 2) as communicator:
            for worker in range(3):
                communicator.open(worker)
                for _ in range(4):
                    end = communicator.connect(worker)
                    communicator.lend(worker, 1)
                    fill(end, 0, 1, 1)
                    communicator.started(worker)
                    for message in communicator.disconnect(worker):
                        assert isinstance(message, ReceivedSlot)
                        communicator.release(message)
                    del end
            communicator.close_line(1)
    assert open_descriptors() == descriptors


class Door(RuleBasedStateMachine):
    """Any order of lending, filling, receiving, releasing and dying: no slot is lost, none exists twice."""

    SLOTS = 3

    def __init__(self) -> None:
        super().__init__()
        self.communicator = WorkerCommunicator(SHAPE, self.SLOTS)
        self.communicator.open(0)
        self.end = self.communicator.connect(0)
        self.credits: list[int] = []
        self.sent: list[int] = []
        self.held: list[ReceivedSlot] = []
        self.taken: list[int] = []
        self.lost = 0
        self.stamp = 0
        self.sequence = 0

    def teardown(self) -> None:
        self.held.clear()
        self.communicator.close()

    @rule()
    def lend(self) -> None:
        in_use = len(self.credits) + len(self.sent) + len(self.held)
        assert self.communicator.lend(0, 1) == (in_use < self.SLOTS)
        self.credits += [m.slot for m in self.end.receive(0) if isinstance(m, Credit)]

    @precondition(lambda self: self.credits)
    @rule()
    def deliver(self) -> None:
        self.stamp += 1
        self.sequence += 1
        fill(self.end, self.credits.pop(0), self.sequence, self.stamp)
        self.sent.append(self.stamp)

    @rule()
    def receive(self) -> None:
        self._hold(received_slots(self.communicator))

    def _hold(self, slots: list[ReceivedSlot]) -> None:
        self.held += slots
        self.taken += [int(slot.rows.action[0, 0]) for slot in slots]
        self.sent.clear()

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        slot = self.held.pop(data.draw(st.integers(0, len(self.held) - 1)))
        self.communicator.release(slot)

    @rule(begun=st.integers(0, SHAPE.plies - 1))
    def die(self, begun: int) -> None:
        if self.credits:
            self.end.rows(self.credits[0]).action[:begun] = -1
            self.end.status.played(begun * SHAPE.games, 1)
            self.lost += begun * SHAPE.games
        self.communicator.started(0)
        self._hold([m for m in self.communicator.disconnect(0) if isinstance(m, ReceivedSlot)])
        self.credits.clear()
        self.sequence = 0
        self.end = self.communicator.connect(0)

    @invariant()
    def nothing_is_lost_or_doubled(self) -> None:
        assert Counter(self.taken + self.sent) == Counter(range(1, self.stamp + 1))
        assert self.communicator.rows_lost == self.lost
        assert self.communicator.rows_received == len(self.taken) * SHAPE.rows

    @invariant()
    def rows_that_are_held_do_not_change(self) -> None:
        stamps = [int(slot.rows.action[0, 0]) for slot in self.held]
        assert all((slot.rows.action == stamp).all() for slot, stamp in zip(self.held, stamps, strict=True))
        assert len(set(stamps)) == len(stamps)
        assert -1 not in stamps

    @invariant()
    def every_slot_is_in_one_state(self) -> None:
        info = self.communicator.queue_info()
        assert info["lent"] == len(self.credits)
        assert info["filled"] == len(self.sent)
        assert info["free"] == self.SLOTS - len(self.credits) - len(self.sent) - len(self.held)


Door.TestCase.settings = settings(max_examples=60, stateful_step_count=40)
TestDoor = Door.TestCase
