"""Other `keisei` commands run from a command: each a process of its own, and none outlives its parent."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from keisei.record.process_group import OWN_GROUP

#: On Linux the kernel ends the command with its parent, even after `kill -9`; a parent that ended before the kernel was
#: asked has another pid than the first argument says.
PROGRAM: Final = """
import os, sys
from keisei.training.parallel.self_play_worker import die_with_parent
die_with_parent()
if os.getppid() == int(sys.argv.pop(1)):
    from keisei.cli import main
    main()
"""
#: A trainer writes its last checkpoint in this time (a second signal ends it at once).
END_SECONDS: Final = 15.0
LAST_LINES: Final = 3


class ChildProcess:
    """`keisei ARGUMENTS` beside this process. It is asked to end when the `with` block does, or made to.

    It does not hear Ctrl-C: that goes to the parent, which decides. What it writes goes to the file ``log_path``.
    """

    def __init__(self, log_path: Path, *arguments: object) -> None:
        self.log_path = log_path
        with log_path.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, str(os.getpid()), *map(str, arguments)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                **OWN_GROUP,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._process.poll()

    def ask_to_end(self) -> None:
        """As Ctrl-C would, once; a command that trains writes a checkpoint first."""
        self._process.terminate()

    def end(self, timeout_seconds: float = END_SECONDS) -> None:
        """Ask it to end, unless it has; kill it when it takes too long."""
        if self.exit_code is None:
            self.ask_to_end()
        self.wait_or_kill(timeout_seconds)

    def wait_or_kill(self, timeout_seconds: float = END_SECONDS) -> None:
        """Wait until it has ended; kill it when that takes too long."""
        try:
            self._process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def last_words(self) -> str:
        """The end of what it wrote, in one line: where an error says what was wrong."""
        lines = self.log_path.read_text(encoding="utf-8", errors="replace").splitlines()
        return " ".join(line.strip() for line in lines[-LAST_LINES:])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
