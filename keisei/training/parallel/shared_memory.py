"""Memory that the trainer and its workers both see.

On Linux it is anonymous (memfd): it has no name that could be left behind, and it is gone with the last process that
has it, however that process ends. Elsewhere it is a named segment that the trainer alone creates and unlinks.
"""

from __future__ import annotations

import mmap
import os
from contextlib import suppress
from multiprocessing import reduction
from multiprocessing.shared_memory import SharedMemory
from types import TracebackType
from typing import Any, Self

from keisei.errors import WorkerFailedError


class SharedRegion:
    """A block of shared bytes. Send it to a process as an argument of the process: pickled otherwise it fails."""

    def __init__(self, nbytes: int, *, anonymous: bool | None = None) -> None:
        self.nbytes = nbytes
        self._segment: SharedMemory | None = None
        self._owner = True
        if has_memfd() if anonymous is None else anonymous:
            self._descriptor = os.memfd_create("keisei", os.MFD_CLOEXEC)
            try:
                # Reserves the pages, so that a lack of memory shows here and not as a signal at the first write.
                os.posix_fallocate(self._descriptor, 0, nbytes)
            except OSError as error:
                os.close(self._descriptor)
                raise WorkerFailedError(_no_memory(nbytes, error)) from error
            self._map = mmap.mmap(self._descriptor, nbytes)
            self.buffer = memoryview(self._map)
        else:
            self._descriptor = -1
            try:
                self._segment = SharedMemory(create=True, size=nbytes)
            except OSError as error:
                raise WorkerFailedError(_no_memory(nbytes, error)) from error
            self.buffer = _bytes_of(self._segment)[:nbytes]

    def __reduce__(self) -> tuple[Any, ...]:
        if self._segment is not None:
            return _attach_named, (self._segment.name, self.nbytes)
        return _attach_descriptor, (reduction.DupFd(self._descriptor), self.nbytes)

    def close(self) -> None:
        """Lets go of the memory; the arrays that lie in it must not be used any more."""
        self.buffer.release()
        if self._segment is not None:
            self._segment.close()
            if self._owner:
                self._segment.unlink()
            return
        # Where an array still lies in it, the mapping goes when the array does.
        with suppress(BufferError):
            self._map.close()
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def has_memfd() -> bool:
    return hasattr(os, "memfd_create") and hasattr(os, "posix_fallocate")


def _attach_descriptor(duplicate: Any, nbytes: int) -> SharedRegion:
    region = SharedRegion.__new__(SharedRegion)
    region.nbytes = nbytes
    region._segment = None
    region._owner = False
    region._descriptor = duplicate.detach()
    region._map = mmap.mmap(region._descriptor, nbytes)
    region.buffer = memoryview(region._map)
    return region


def _attach_named(name: str, nbytes: int) -> SharedRegion:
    region = SharedRegion.__new__(SharedRegion)
    region.nbytes = nbytes
    region._owner = False
    region._descriptor = -1
    region._segment = SharedMemory(name=name)
    region.buffer = _bytes_of(region._segment)[:nbytes]
    return region


def _bytes_of(segment: SharedMemory) -> memoryview:
    if segment.buf is None:
        raise WorkerFailedError(f"the shared memory {segment.name!r} is closed already")
    return segment.buf


def _no_memory(nbytes: int, error: OSError) -> str:
    return (
        f"cannot get {nbytes:,} bytes of shared memory: {error.strerror}; lower parallel.num_workers, "
        "env.num_games or training.rollout_plies"
    )
