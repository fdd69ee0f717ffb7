"""Channels: whole messages or none, of any size, and nobody ever waits for the other end."""

import os
import pickle
import signal
import socket
import time
from multiprocessing import get_context

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisei.training.parallel.channel import LENGTH, WATCHFUL_SECONDS, Channel, ChannelWatch

LARGE = 4 << 20  # larger than the buffers of any socket


def frame(message: object) -> bytes:
    payload = pickle.dumps(message)
    return LENGTH.pack(len(payload)) + payload


@given(st.lists(st.binary(max_size=2000)), st.lists(st.integers(1, 500), min_size=1))
def test_messages_arrive_whole_and_in_order_however_the_bytes_are_cut(
    messages: list[bytes], cuts: list[int]
) -> None:
    raw, theirs = socket.socketpair()
    channel = Channel(theirs)
    stream = b"".join(map(frame, messages))
    received: list[bytes] = []
    step = 0
    while stream:
        size = cuts[step % len(cuts)]
        raw.send(stream[:size])
        stream = stream[size:]
        received += channel.receive()
        step += 1
    assert received == messages
    assert not channel.ended
    raw.close()
    channel.close()


def test_b6_a_large_message_neither_blocks_the_sender_nor_arrives_in_part() -> None:
    ours, theirs = Channel.pair()
    message = os.urandom(LARGE)
    ours.send(message)
    assert ours.unsent
    assert theirs.receive() == []
    received: list[bytes] = []
    while not received:
        ours.flush()
        received = theirs.receive()
    assert received == [message]
    assert not ours.unsent
    ours.close()
    theirs.close()


def test_what_was_sent_before_the_end_can_be_received_and_half_a_message_cannot() -> None:
    raw, theirs = socket.socketpair()
    channel = Channel(theirs)
    raw.send(frame("whole") + frame("half")[:-1])
    raw.close()
    assert channel.receive() == ["whole"]
    assert channel.receive() == []
    assert channel.ended
    channel.close()


def test_sending_to_nobody_marks_the_end_and_keeps_nothing() -> None:
    ours, theirs = Channel.pair()
    theirs.close()
    ours.send("hello")
    assert ours.ended
    assert not ours.unsent
    ours.close()


def test_unread_credits_of_a_dead_peer_do_not_swallow_its_last_message() -> None:
    ours, theirs = Channel.pair()
    ours.send("never read")
    theirs.send("last words")
    theirs.close()
    assert ours.receive() == ["last words"]
    assert ours.receive() == []
    assert ours.ended
    ours.close()


def test_watch_wakes_at_a_message_and_sends_on_what_could_not_leave() -> None:
    ours, theirs = Channel.pair()
    watch = ChannelWatch()
    watch.add(ours)
    assert watch.wait(0) == []
    theirs.send("hello")
    assert watch.wait(10) == [ours]
    assert ours.receive() == ["hello"]
    ours.send(os.urandom(LARGE))
    received: list[bytes] = []
    while not received:
        watch.wait(0.01)
        received = theirs.receive()
    assert len(received[0]) == LARGE
    watch.remove(ours)
    watch.close()
    ours.close()
    theirs.close()


def test_a_watch_that_waits_in_vain_leaves_the_core_to_others() -> None:
    ours, theirs = Channel.pair()
    watch = ChannelWatch()
    watch.add(ours)
    waits = 50
    watch.wait(0.001)

    def computing_seconds() -> float:
        began = time.thread_time()
        for _ in range(waits):
            assert watch.wait(0.001) == []
        return time.thread_time() - began

    # The garbage collector may come once, not always.
    assert min(computing_seconds() for _ in range(3)) < waits * WATCHFUL_SECONDS
    theirs.send("work")
    assert watch.wait(10) == [ours]
    watch.close()
    ours.close()
    theirs.close()


def _stop_in_the_middle_of_a_message(end: socket.socket) -> None:
    end.setblocking(True)
    end.send(frame("a message that is begun")[:10])
    os.kill(os.getpid(), signal.SIGSTOP)


def test_b6_a_process_that_is_stopped_in_the_middle_of_a_message_does_not_block_the_other() -> None:
    ours, theirs = socket.socketpair()
    process = get_context("spawn").Process(
        target=_stop_in_the_middle_of_a_message, args=(theirs,), daemon=True
    )
    process.start()
    theirs.close()
    channel, watch = Channel(ours), ChannelWatch()
    watch.add(channel)
    assert watch.wait(60) == [channel]
    began = time.monotonic()
    assert channel.receive() == []
    channel.send(b"x" * LARGE)
    assert time.monotonic() - began < 1
    assert not channel.ended
    process.kill()
    process.join()
    watch.wait(10)
    assert channel.receive() == []
    assert channel.ended
    watch.close()
    channel.close()


def test_a_channel_refuses_to_be_pickled_outside_of_a_process_start() -> None:
    ours, theirs = Channel.pair()
    with pytest.raises(TypeError):
        pickle.dumps(ours)
    ours.close()
    theirs.close()
