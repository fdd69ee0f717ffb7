"""Waiting for other processes, and seeing them end."""

import time
from collections.abc import Callable

import psutil

PATIENCE_SECONDS = 60.0
LOOK_SECONDS = 0.02


def wait_until(is_true: Callable[[], bool], what: str) -> None:
    """Wait for something to happen; fail in words when it does not."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_true():
        assert time.monotonic() < deadline, f"{what} has not come within {PATIENCE_SECONDS:.0f} s"
        time.sleep(LOOK_SECONDS)


def is_gone(pid: int) -> bool:
    """Ended, though perhaps not yet waited for."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
