"""The engine as a process: standard input is read at all times, standard output belongs to the protocol alone."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import NoReturn

from keisei.usi.engine import EXIT_OK, Engine
from keisei.usi.events import EndOfInput, Event, Line
from keisei.usi.options import EngineOptions

STANDARD_OUTPUT = 1
STANDARD_ERROR = 2


def main() -> NoReturn:
    """`keisei-usi`: what a shogi GUI starts. An argument is the checkpoint to play with, as the option Model."""
    serve(EngineOptions(model=sys.argv[1] if len(sys.argv) > 1 else ""))


def serve(options: EngineOptions) -> NoReturn:
    """Speaks USI until the GUI leaves, then ends the process."""
    write = _protocol_writer()
    events: SimpleQueue[Event] = SimpleQueue()
    threading.Thread(target=_read_lines, args=(events,), name="input", daemon=True).start()
    try:
        status = Engine(events, write, options).run()
    except BrokenPipeError:
        status = EXIT_OK
    # The threads may be inside PyTorch, which does not like the interpreter to be taken down around it.
    sys.stderr.flush()
    os._exit(status)


def _protocol_writer() -> Callable[[str], None]:
    """Keeps standard output for the protocol: whatever else is printed goes to standard error."""
    protocol = os.fdopen(os.dup(STANDARD_OUTPUT), "w", encoding="ascii", errors="replace", newline="\n")
    os.dup2(STANDARD_ERROR, STANDARD_OUTPUT)

    def write(line: str) -> None:
        protocol.write(line + "\n")
        protocol.flush()

    return write


def _read_lines(events: SimpleQueue[Event]) -> None:
    for line in sys.stdin.buffer:
        events.put(Line(line.decode("utf-8", "replace"), time.monotonic()))
    events.put(EndOfInput())
