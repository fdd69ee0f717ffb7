"""A USI engine in a process of its own: started, asked, and ended, whatever it does.

Nothing that an engine prints is believed before it is checked, and nothing it does can hold up or end this process:
its standard error goes nowhere, long lines are cut, chatter is thrown away, and every wait has an end.
"""

from __future__ import annotations

import contextlib
import os
import queue
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping
from typing import IO

from keisei.errors import UsiEngineError, UsiEngineSilentError
from keisei.evaluation.usi_options import DeclaredOptions
from keisei.record.machine import find_program
from keisei.shogi import STANDARD_SFEN, ShogiGame

#: Engines load their networks and tables before `usiok` or `readyok`.
START_SECONDS = 20.0
QUIT_SECONDS = 2.0
#: A line that is longer is cut; one move list of a long game is far shorter.
MAX_LINE_BYTES = 1 << 16
#: Answers that wait to be read; more than any engine has to say at once.
MAX_WAITING_LINES = 10_000
#: The last lines an engine printed, for error messages.
REMEMBERED_LINES = 3
SHOWN_CHARACTERS = 80
ANSWERS = ("usiok", "readyok", "bestmove", "option")


class UsiProcess:
    """One running engine, ready to be asked. Every method raises UsiEngineError when it is of no more use."""

    def __init__(self, command: str, options: Mapping[str, str]) -> None:
        self._command = command
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._last_lines: deque[str] = deque(maxlen=REMEMBERED_LINES)
        self._process = self._start()
        self._reader = threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True)
        self._reader.start()
        try:
            self._shake_hands(options)
        except UsiEngineError:
            self.kill()
            raise

    def best_move(self, game: ShogiGame, go: str, timeout_seconds: float) -> str:
        """What the engine answers to ``go`` in the game's position: a move, ``resign`` or ``win``, not checked.

        Raises UsiEngineSilentError when the answer does not come in time.
        """
        while not self._lines.empty():  # an answer that nobody asked for must not become the next one
            self._note(self._lines.get())
        self._tell(position_command(game), go)
        words = self._await("bestmove", timeout_seconds).split()
        return words[1] if len(words) > 1 else ""

    def close(self) -> None:
        """Asks the engine to end and ends it."""
        with contextlib.suppress(UsiEngineError):
            self._tell("quit")
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(QUIT_SECONDS)
        self.kill()

    def kill(self) -> None:
        """Ends the engine at once, with whatever processes it has started."""
        if sys.platform == "win32":
            self._process.kill()
        else:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._reader.join(QUIT_SECONDS)
        for pipe in (self._process.stdin, self._process.stdout):
            # What could not be written any more is flushed by close, which then fails.
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    # ---- the conversation

    def _shake_hands(self, options: Mapping[str, str]) -> None:
        declared = DeclaredOptions(self._command)
        self._tell("usi")
        deadline = time.monotonic() + START_SECONDS
        while (line := self._next_line("usiok", deadline)).split()[0] != "usiok":
            declared.learn(line)
        for name, value in options.items():
            self._tell(declared.command(name, value))
        self._tell("isready")
        self._await("readyok", START_SECONDS)
        # Once only: games take turns on this process, and each position is sent whole.
        self._tell("usinewgame")

    def _tell(self, *commands: str) -> None:
        pipe = self._process.stdin
        try:
            if pipe is not None:
                pipe.write("".join(f"{command}\n" for command in commands).encode("utf-8"))
                pipe.flush()
        except (OSError, ValueError) as error:
            raise self._ended() from error

    def _await(self, word: str, timeout_seconds: float) -> str:
        deadline = time.monotonic() + timeout_seconds
        while (line := self._next_line(word, deadline)).split(maxsplit=1)[0] != word:
            self._note(line)
        return line

    def _next_line(self, word: str, deadline: float) -> str:
        try:
            line = self._lines.get(timeout=max(deadline - time.monotonic(), 0.0))
        except queue.Empty:
            raise UsiEngineSilentError(
                f"expected {word!r} from the engine {self._command!r} in time, but it did not come;"
                f" {self._said()}"
            ) from None
        if line is None:
            self._lines.put(None)  # whoever asks next must not wait either
            raise self._ended()
        return line

    # ---- the process

    def _start(self) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                program_line(self._command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                # Its own session: Ctrl-C is for us, and all its children can be ended together.
                start_new_session=True,
            )
        except OSError as error:
            raise UsiEngineError(
                f"cannot start the engine {self._command!r}: {error.strerror}; check the path and its permissions"
            ) from error

    def _read(self, pipe: IO[bytes]) -> None:
        """Passes on the lines that are part of the protocol, until the engine closes its output."""
        with contextlib.suppress(OSError, ValueError):
            while data := pipe.readline(MAX_LINE_BYTES):
                line = data.decode("utf-8", "replace").strip()
                if line.startswith(ANSWERS) and self._lines.qsize() < MAX_WAITING_LINES:
                    self._lines.put(line)
                else:
                    self._note(line)
        self._lines.put(None)

    def _note(self, line: str | None) -> None:
        if line:
            self._last_lines.append(line[:SHOWN_CHARACTERS])

    def _said(self) -> str:
        if not self._last_lines:
            return "it printed nothing else; run it by hand and type `usi`"
        return f"the last it printed was {list(self._last_lines)!r}; run it by hand and type `usi`"

    def _ended(self) -> UsiEngineError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(QUIT_SECONDS)
        status = self._process.returncode
        how = "has closed its pipes" if status is None else f"ended with exit status {status}"
        return UsiEngineError(f"the engine {self._command!r} {how}; {self._said()}")


def program_line(command: str) -> list[str]:
    """A command line, split, with its program found."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsiEngineError(
            f"cannot read the engine command {command!r}: {error}; correct its quotes"
        ) from error
    program = find_program(words[0]) if words else None
    if program is None:
        raise UsiEngineError(
            f"there is no program for the engine command {command!r}; install it or give its full path"
        )
    return [program, *words[1:]]


def position_command(game: ShogiGame) -> str:
    """The game as the engine must know it: from its start, so that it sees repetitions."""
    start = "startpos" if game.start_sfen == STANDARD_SFEN else f"sfen {game.start_sfen}"
    moves = [move.usi for move in game.moves]
    return " ".join(["position", start, *(["moves", *moves] if moves else [])])
