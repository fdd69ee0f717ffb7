"""Waiting for other processes, and seeing them end."""

import gc
import time
from collections.abc import Callable

import psutil

#: Longer than anything takes on a busy machine: who waits so long has found a hang.
PATIENCE_SECONDS = 200.0
LOOK_SECONDS = 0.02


def wait_until(is_true: Callable[[], bool], what: str) -> None:
    """Wait for something to happen; fail in words when it does not."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_true():
        assert time.monotonic() < deadline, f"{what} has not come within {PATIENCE_SECONDS:.0f} s"
        time.sleep(LOOK_SECONDS)


def children_with(word: str, parent: int | None = None) -> list[psutil.Process]:
    """The children of a process, or of this one, with a word in their command line; not those that have just ended."""
    found = []
    for child in psutil.Process(parent).children():
        try:
            if word in " ".join(child.cmdline()):
                found.append(child)
        except psutil.Error:
            continue
    return found


def worker_processes(trainer: int | None = None) -> list[psutil.Process]:
    """What Python has spawned for a process, or for this one: workers and nothing else."""
    return children_with("spawn_main", trainer)


def open_descriptors() -> int:
    """Those of this process, without what earlier tests have left to the garbage collector."""
    gc.collect()
    return psutil.Process().num_fds()


def is_gone(pid: int) -> bool:
    """Ended, though perhaps not yet waited for."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
