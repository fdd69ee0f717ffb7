"""Messages over a socket: each arrives whole or not at all, and neither end ever waits for the other.

`multiprocessing.Connection` blocks in the middle of a message when the other process is stopped there, and on some
systems whenever a message is larger than the pipe. Here a message that cannot leave is kept and sent on later, and one
that has come in part is kept until the rest is there.
"""

from __future__ import annotations

import pickle
import selectors
import socket
import struct
import time
from typing import Any

LENGTH = struct.Struct("<Q")
READ_BYTES = 1 << 16
WATCHFUL_SECONDS = 100e-6
#: poll() rather than epoll(): Linux then wakes the reader where the writer runs, and a round trip takes half the time.
Selector = getattr(selectors, "PollSelector", selectors.DefaultSelector)


class Channel:
    """One end of a two-way line between two processes. It travels as an argument of a process."""

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        self._socket = end
        #: Bytes that the other end has not made room for yet.
        self.unsent = bytearray()
        self._received = bytearray()
        self._chunk = memoryview(bytearray(READ_BYTES))
        #: The other end is gone: what it sent before can still be received, then nothing more comes.
        self.ended = False

    @classmethod
    def pair(cls) -> tuple[Channel, Channel]:
        ours, theirs = socket.socketpair()
        return cls(ours), cls(theirs)

    def __reduce__(self) -> tuple[Any, ...]:
        return Channel, (self._socket,)

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, message: object) -> None:
        """Sends what fits now; `flush` sends the rest later."""
        payload = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        self.unsent += LENGTH.pack(len(payload)) + payload
        self.flush()

    def flush(self) -> None:
        while self.unsent:
            try:
                sent = self._socket.send(self.unsent)
            except BlockingIOError:
                return
            except OSError:
                self.unsent.clear()
                self.ended = True
                return
            del self.unsent[:sent]

    def receive(self) -> list[Any]:
        """The messages that are complete by now. The end shows at a call of its own, after the last bytes."""
        count = READ_BYTES
        while count == READ_BYTES:  # less means that nothing is left: one system call for a small message
            try:
                count = self._socket.recv_into(self._chunk)
            except BlockingIOError:
                break
            except OSError:
                count = 0
            self.ended = count == 0
            self._received += self._chunk[:count]
        return self._complete_messages() if self._received else []

    def _complete_messages(self) -> list[Any]:
        messages, start, size = [], 0, len(self._received)
        with memoryview(self._received) as received:
            while start + LENGTH.size <= size:
                begin = start + LENGTH.size
                end = begin + LENGTH.unpack_from(received, start)[0]
                if end > size:
                    break
                messages.append(pickle.loads(received[begin:end]))
                start = end
        del self._received[:start]
        return messages

    def close(self) -> None:
        self._socket.close()


class ChannelWatch:
    """Waits until one of some channels can be read, and meanwhile sends on what could not leave at once."""

    def __init__(self) -> None:
        self._selector = Selector()
        self._events: dict[Channel, int] = {}
        self._last_wait_was_in_vain = False

    def add(self, channel: Channel) -> None:
        self._events[channel] = selectors.EVENT_READ
        self._selector.register(channel, selectors.EVENT_READ, channel)

    def remove(self, channel: Channel) -> None:
        del self._events[channel]
        self._selector.unregister(channel)

    def wait(self, timeout_seconds: float) -> list[Channel]:
        """The channels with something to read; possibly none, also before the timeout."""
        for channel, events in self._events.items():
            wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if channel.unsent else 0)
            if wanted != events:
                self._events[channel] = wanted
                self._selector.modify(channel, wanted, channel)
        ready = []
        for key, events in self._selected(timeout_seconds):
            if events & selectors.EVENT_WRITE:
                key.data.flush()
            if events & selectors.EVENT_READ:
                ready.append(key.data)
        return ready

    def _selected(self, timeout_seconds: float) -> list[tuple[selectors.SelectorKey, int]]:
        """Watches for a moment before it sleeps: to be woken takes longer than many an answer.

        After a wait in vain it sleeps at once: nobody is about to answer, and those who work need the core.
        """
        watchful = 0.0 if self._last_wait_was_in_vain else min(timeout_seconds, WATCHFUL_SECONDS)
        watched_until = time.perf_counter() + watchful
        while not (selected := self._selector.select(0)) and time.perf_counter() < watched_until:
            pass
        selected = selected or self._selector.select(timeout_seconds)
        self._last_wait_was_in_vain = not selected
        return selected

    def close(self) -> None:
        self._selector.close()
