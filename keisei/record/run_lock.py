"""One trainer to a run folder: an operating-system lock that dies with its process and tells its pid."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from keisei.durable_files import next_step_after
from keisei.errors import RunDirectoryError

# A viewer that asks `holder_pid` holds the lock for microseconds; a trainer waits that out before it refuses.
PATIENCE_SECONDS = 0.5
RETRY_SECONDS = 0.02
PID_BYTES = 32

if sys.platform == "win32":
    import msvcrt

    # Windows locks are mandatory: a locked byte cannot be read, so lock one far behind the pid.
    LOCKED_OFFSET = 1 << 30

    def _try_lock(descriptor: int, *, shared: bool) -> bool:  # noqa: ARG001
        os.lseek(descriptor, LOCKED_OFFSET, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        os.lseek(descriptor, LOCKED_OFFSET, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def _try_lock(descriptor: int, *, shared: bool) -> bool:
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def _read_pid(descriptor: int) -> int | None:
    os.lseek(descriptor, 0, os.SEEK_SET)
    text = os.read(descriptor, PID_BYTES).decode("ascii", "replace").strip()
    return int(text) if text.isdecimal() else None


def _write_pid(descriptor: int) -> None:
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, f"{os.getpid()}\n".encode("ascii"))


def _wait_for_lock(descriptor: int, patience_seconds: float = PATIENCE_SECONDS) -> bool:
    deadline = time.monotonic() + patience_seconds
    while not _try_lock(descriptor, shared=False):
        if time.monotonic() >= deadline:
            return False
        time.sleep(RETRY_SECONDS)
    return True


@contextmanager
def waiting_lock(path: Path, patience_seconds: float) -> Iterator[bool]:
    """Hold the lock file ``path`` inside the ``with`` block; False when it was not free in time.

    For files that several processes write in turn. The lock file stays, for the reason given at `RunLock`.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        is_held = _wait_for_lock(descriptor, patience_seconds)
        yield is_held
        if is_held:
            _unlock(descriptor)
    finally:
        os.close(descriptor)


def holder_pid(path: Path) -> int | None:
    """The pid of the trainer that holds the lock file ``path`` now; None when nobody does."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RunDirectoryError(f"cannot read the lock {path!s}: {error.strerror}") from error
    try:
        if _try_lock(descriptor, shared=True):
            _unlock(descriptor)
            return None
        return _read_pid(descriptor)
    finally:
        os.close(descriptor)


class RunLock:
    """The right to train in a folder, held from construction until ``release``.

    The file stays when the lock goes: unlinking a lock file lets two processes lock two different files.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._descriptor: int | None = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise self._failure(error) from error
        try:
            self._take(self._descriptor)
        except BaseException:
            os.close(self._descriptor)
            raise

    def _take(self, descriptor: int) -> None:
        try:
            if not _wait_for_lock(descriptor):
                raise self._refusal(_read_pid(descriptor))
            _write_pid(descriptor)
        except OSError as error:
            raise self._failure(error) from error

    def _failure(self, error: OSError) -> RunDirectoryError:
        return RunDirectoryError(f"cannot lock {self.path!s}: {error.strerror}; {next_step_after(error)}")

    def _refusal(self, pid: int | None) -> RunDirectoryError:
        who = "another process" if pid is None else f"another trainer, pid {pid},"
        return RunDirectoryError(
            f"{who} is using the run folder {self.path.parent!s}; "
            "wait until it ends or stop it (Ctrl-C there), or start a run with another --name"
        )

    def release(self) -> None:
        """Let the next trainer in. A second call does nothing."""
        if self._descriptor is not None:
            _unlock(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
