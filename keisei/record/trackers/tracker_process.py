"""The trainer's end of the trackers: a bounded queue and a thread that hands it over to a child process.

Nothing here waits for a tracker while a run is trained. A child that dies is replaced a few times; a child that hangs
fills the queue, and further messages are left out and counted. The run's journal has them all.
"""

from __future__ import annotations

import io
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final, cast

from keisei.record.process_group import OWN_GROUP
from keisei.record.trackers.messages import Figures, Finish, Message, Rewind, Start, encode

COMMAND: Final = (sys.executable, "-c", "from keisei.record.trackers.child import main; main()")
RESTARTS: Final = 3
LOOK_SECONDS: Final = 0.05
#: Longest wait when somebody wants the run to end now.
HURRY_SECONDS: Final = 5.0
#: How long a process may take to be gone after it was killed.
KILL_SECONDS: Final = 5.0


class TrackerProcess:
    """The child process and the queue before it."""

    def __init__(self, start: Start, log_path: Path, queue_size: int) -> None:
        self._start = start
        self._log_path = log_path
        self._queue: queue.Queue[Message] = queue.Queue(queue_size)
        self._reports: deque[str] = deque()
        self._refused = 0
        self._undelivered = 0
        self._restarts = 0
        self._is_ending = threading.Event()
        self._process, self._listener = self._spawn()
        self._write(start)
        self._thread = threading.Thread(target=self._deliver, name="trackers", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int:
        """Of the child process."""
        return self._process.pid

    def send(self, message: Message) -> None:
        """Put a message into the queue; never waits."""
        try:
            self._queue.put_nowait(message)
        except queue.Full:
            self._refused += 1

    def take_reports(self) -> list[str]:
        """What there is to tell the person who trains, each sentence once."""
        taken = []
        while self._reports:
            taken.append(self._reports.popleft())
        return taken

    def finish(
        self, timeout_seconds: float, *, failed: bool, is_hurried: Callable[[], bool] = lambda: False
    ) -> None:
        """Let the trackers write and send what they have; end them when the time is over."""
        self._put_last(Finish(failed))
        began = time.monotonic()
        while self._is_at_work() and time.monotonic() - began < (
            min(timeout_seconds, HURRY_SECONDS) if is_hurried() else timeout_seconds
        ):
            time.sleep(LOOK_SECONDS)
        self._is_ending.set()
        if self._is_at_work():
            self._reports.append(
                f"the trackers had not finished after {time.monotonic() - began:.0f} s and were ended; what they "
                f"have kept is in {self._start.folder}"
            )
            self._process.kill()
            self._thread.join(KILL_SECONDS)
            self._process.kill()  # the thread may just have started another one
        with suppress(
            subprocess.TimeoutExpired
        ):  # a process in the grip of a dead disk cannot even be killed
            self._process.wait(KILL_SECONDS)
        self._pipe.close()
        self._listener.join(KILL_SECONDS)
        left_out = self._refused + self._undelivered
        if left_out:
            self._reports.append(
                f"{left_out} messages did not reach the trackers, which were too slow or gone; "
                "the journal has everything"
            )

    def _put_last(self, message: Finish) -> None:
        """A queue that is full must still take the last message: an old one makes room."""
        while True:
            try:
                self._queue.put_nowait(message)
                return
            except queue.Full:
                try:
                    self._queue.get_nowait()
                    self._refused += 1
                except queue.Empty:
                    continue  # the thread was quicker

    def _is_at_work(self) -> bool:
        return self._thread.is_alive() or self._process.poll() is None

    # ---- the thread

    def _deliver(self) -> None:
        while True:
            message = self._queue.get()
            while not self._write(message):
                if not self._replace():
                    self._discard(message)
                    return
            if isinstance(message, Finish):
                self._pipe.close()
                return
            self._remember(message)

    def _remember(self, message: Message) -> None:
        """Where a child that has to be replaced goes on."""
        if isinstance(message, Figures):
            self._start = replace(self._start, update=max(self._start.update, message.update))
        elif isinstance(message, Rewind):
            self._start = replace(self._start, update=message.update)

    def _discard(self, message: Message) -> None:
        """Nobody is left to tell: empty the queue until the run ends."""
        while not isinstance(message, Finish):
            self._undelivered += 1
            message = self._queue.get()

    @property
    def _pipe(self) -> io.FileIO:
        return cast(io.FileIO, self._process.stdin)  # since it was started with bufsize=0

    def _write(self, message: Message) -> bool:
        """Whether the child's pipe has the message; waits while it is full."""
        line = memoryview(encode(message))
        try:
            while line:
                line = line[self._pipe.write(line) :]
        except OSError:
            return False
        return True

    def _replace(self) -> bool:
        """Start another child in the place of a dead one; False when that has been done often enough."""
        if self._is_ending.is_set():
            return False
        cause = _cause(self._process.wait())
        if self._restarts == RESTARTS:
            self._reports.append(f"the trackers' process ended again ({cause}); the run goes on without them")
            return False
        self._restarts += 1
        self._reports.append(f"the trackers' process ended ({cause}) and was started anew")
        self._pipe.close()
        try:
            self._process, self._listener = self._spawn()
        except OSError as error:
            self._reports.append(f"that failed ({error}); the run goes on without trackers")
            return False
        self._write(self._start)
        return True

    def _spawn(self) -> tuple[subprocess.Popen[bytes], threading.Thread]:
        """A child, and the thread that hears its reports."""
        with self._log_path.open("ab") as log:
            process = subprocess.Popen(
                (*COMMAND, str(os.getpid())),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                bufsize=0,
                **OWN_GROUP,
            )
        listener = threading.Thread(target=self._listen, args=(process,), name="tracker reports", daemon=True)
        listener.start()
        return process, listener

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        with cast(io.FileIO, process.stdout) as reports:
            for line in reports:
                self._reports.append(line.decode().strip())


def _cause(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
