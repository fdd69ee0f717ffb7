"""A real `keisei web` process for tests."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

#: Longer than any answer takes on a busy machine.
ANSWER_SECONDS = 60
STOP_SECONDS = 60
COMMAND = [sys.executable, "-c", "from keisei.cli import main; main()", "web", "--no-open"]


@dataclass
class PageServer:
    """A running page; ``address`` is what it printed, token and all."""

    process: "subprocess.Popen[str]"
    address: str

    @property
    def port(self) -> int:
        port = urlsplit(self.address).port
        assert port is not None
        return port

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def stop(self) -> str:
        """End it and return what it wrote to stderr."""
        self.process.terminate()
        return self.process.communicate(timeout=STOP_SECONDS)[1]


def start_page(*arguments: object, port: int = 0) -> PageServer:
    """Start the page and wait until it listens."""
    command = [*COMMAND, "--port", str(port), *map(str, arguments)]
    process = subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.search(r"http://\S+", line)
    if found is None:
        process.kill()
        raise AssertionError(f"the page did not start: {line!r} {process.communicate()[1]}")
    return PageServer(process, found[0])


def ask(method: str, address: object, **options: Any) -> httpx.Response:
    """One request of a visitor without memory."""
    return httpx.request(method, str(address), timeout=ANSWER_SECONDS, **options)


@contextmanager
def serving(runs: Path, *arguments: object) -> Iterator[PageServer]:
    """A page that shows ``runs``; it must have had nothing to complain about."""
    server = start_page(runs, *arguments)
    try:
        yield server
    finally:
        complaints = server.stop()
    assert "Traceback" not in complaints, complaints
