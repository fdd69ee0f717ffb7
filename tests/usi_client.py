"""A scripted GUI for engine processes: sends lines, and waits for answers without sleeping."""

import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Self

PATIENCE_SECONDS = 200.0


@dataclass(frozen=True)
class Heard:
    """A line of the engine, and when it came."""

    text: str
    seconds: float


class UsiClient:
    """One engine process. Everything it prints is read at once and kept in ``transcript``."""

    def __init__(self, command: Sequence[str], cwd: Path | None = None) -> None:
        self.process = subprocess.Popen(
            command, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.transcript: list[str] = []
        self._heard: SimpleQueue[Heard | None] = SimpleQueue()
        self._errors: list[bytes] = []
        self._readers = [
            threading.Thread(target=self._read, daemon=True),
            threading.Thread(target=self._read_errors, daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        for reader in self._readers:
            reader.join()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()

    def send(self, *lines: str) -> float:
        """Sends lines together; returns when."""
        self.send_bytes("".join(f"{line}\n" for line in lines).encode())
        return time.monotonic()

    def send_bytes(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def close_input(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def until(self, beginning: str, patience: float = PATIENCE_SECONDS) -> list[Heard]:
        """All lines up to the first that begins so; fails when it does not come."""
        lines: list[Heard] = []
        deadline = time.monotonic() + patience
        while True:
            try:
                heard = self._heard.get(timeout=max(0.0, deadline - time.monotonic()))
            except Empty:
                raise AssertionError(
                    f"no line {beginning!r} within {patience} s: {self.transcript}"
                ) from None
            if heard is None:
                raise AssertionError(
                    f"the engine ended before {beginning!r}: {self.transcript} {self.errors()}"
                )
            lines.append(heard)
            if heard.text.startswith(beginning):
                return lines

    def ask(self, *lines: str, answer: str) -> str:
        """Sends lines and returns the answer that begins so."""
        self.send(*lines)
        return self.until(answer)[-1].text

    def wait(self) -> int:
        """The exit status, when the engine ends by itself."""
        status = self.process.wait(PATIENCE_SECONDS)
        for reader in self._readers:
            reader.join()
        return status

    def errors(self) -> str:
        return b"".join(self._errors).decode(errors="replace")

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            text = line.decode("ascii").rstrip("\n")
            self.transcript.append(text)
            self._heard.put(Heard(text, time.monotonic()))
        self._heard.put(None)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._errors.append(line)
