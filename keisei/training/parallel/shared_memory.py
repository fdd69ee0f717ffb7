"""Memory that the trainer and its workers both see.

On Linux it is anonymous (memfd): it has no name that could be left behind, and it is gone with the last process that
has it, however that process ends. Elsewhere it is a named segment that the trainer alone creates and unlinks.
"""

from __future__ import annotations

import mmap
import os
import secrets
import shutil
from contextlib import suppress
from multiprocessing import reduction
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from keisei.errors import ConfigError
from keisei.record.machine_limits import available_memory_bytes

#: Where Linux keeps named segments. A write beyond its size ends the process, so there must be room beforehand.
NAMED_SEGMENTS = Path("/dev/shm")
SEGMENT_PREFIX = "keisei-"


class SharedRegion(Protocol):
    """A block of shared bytes, zero at first. It travels as an argument of a process; pickled otherwise it fails."""

    buffer: memoryview

    def close(self) -> None:
        """Lets go of the memory; the arrays that lie in it must not be used any more."""
        ...


def new_region(nbytes: int, *, anonymous: bool | None = None) -> SharedRegion:
    """Shared memory of the kind that is asked for, or that the system has. ConfigError when there is not enough."""
    if anonymous is None:
        anonymous = has_memfd()
    elif anonymous and not has_memfd():
        raise ConfigError("parallel.shared_memory is 'memfd', which only Linux has; use 'auto' or 'named'")
    try:
        # Asked beforehand, because the kernel would look for pages until it ends some process for lack of them.
        if nbytes > (free := available_memory_bytes()):
            raise OSError(None, f"{free:,} bytes of memory are free")
        return AnonymousRegion.create(nbytes) if anonymous else NamedRegion.create(nbytes)
    except OSError as error:
        raise ConfigError(
            f"cannot get {nbytes:,} bytes of shared memory: {error.strerror}; lower parallel.num_workers, "
            "env.num_games or training.rollout_plies"
        ) from error


def has_memfd() -> bool:
    return hasattr(os, "memfd_create") and hasattr(os, "posix_fallocate")


class _ContextManager:
    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        raise NotImplementedError


class AnonymousRegion(_ContextManager):
    """Memory behind a descriptor (memfd)."""

    def __init__(self, descriptor: int, nbytes: int) -> None:
        self._descriptor = descriptor
        self._map = mmap.mmap(descriptor, nbytes)
        self.buffer = memoryview(self._map)

    @classmethod
    def create(cls, nbytes: int) -> Self:
        descriptor = os.memfd_create("keisei", os.MFD_CLOEXEC)
        try:
            # Reserves the pages: a lack of memory must not show as a signal at the first write.
            os.posix_fallocate(descriptor, 0, nbytes)
            return cls(descriptor, nbytes)
        except BaseException:
            os.close(descriptor)
            raise

    def __reduce__(self) -> tuple[Any, ...]:
        return _attach_anonymous, (reduction.DupFd(self._descriptor), len(self.buffer))

    def close(self) -> None:
        # Where an array still lies in the memory, it is unmapped when the array goes.
        with suppress(BufferError):
            self.buffer.release()
            self._map.close()
        os.close(self._descriptor)


class NamedRegion(_ContextManager):
    """A named segment (POSIX or Windows)."""

    def __init__(self, segment: SharedMemory, nbytes: int, *, owner: bool) -> None:
        self._segment = segment
        self._owner = owner
        self._nbytes = nbytes
        # Larger than asked for where the system counts in pages; its type allows for a closed one.
        self.buffer = memoryview(segment.buf or b"")[:nbytes]

    @classmethod
    def create(cls, nbytes: int) -> Self:
        if NAMED_SEGMENTS.is_dir() and (free := shutil.disk_usage(NAMED_SEGMENTS).free) < nbytes:
            raise OSError(None, f"{NAMED_SEGMENTS} has {free:,} bytes left")
        # The owner's pid is in the name, so that a person who finds a segment knows whose it is.
        name = f"{SEGMENT_PREFIX}{os.getpid()}-{secrets.token_hex(4)}"
        region = cls(SharedMemory(name=name, create=True, size=nbytes), nbytes, owner=True)
        try:
            _reserve_pages(NAMED_SEGMENTS / name, nbytes)
        except BaseException:
            region.close()
            raise
        return region

    def __reduce__(self) -> tuple[Any, ...]:
        return _attach_named, (self._segment.name, self._nbytes)

    def close(self) -> None:
        if self._owner:
            self._segment.unlink()
        with suppress(BufferError):
            self.buffer.release()
            self._segment.close()


def _reserve_pages(segment: Path, nbytes: int) -> None:
    """Linux gives a named segment its pages at the first write, which is a signal where there are none left."""
    if not segment.exists() or not hasattr(os, "posix_fallocate"):
        return
    descriptor = os.open(segment, os.O_RDWR)
    try:
        os.posix_fallocate(descriptor, 0, nbytes)
    finally:
        os.close(descriptor)


def _attach_anonymous(duplicate: Any, nbytes: int) -> AnonymousRegion:
    return AnonymousRegion(duplicate.detach(), nbytes)


def _attach_named(name: str, nbytes: int) -> NamedRegion:
    return NamedRegion(SharedMemory(name=name), nbytes, owner=False)
