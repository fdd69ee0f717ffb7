"""What this process may use of the machine: cores and memory, the limits of a container included."""

from __future__ import annotations

import os
from pathlib import Path

import psutil

#: What a container may have (cgroup v2), of which the figures of the whole machine know nothing.
CONTAINER = Path("/sys/fs/cgroup")
CORES_FILE, MEMORY_LIMIT_FILE, MEMORY_USE_FILE = "cpu.max", "memory.max", "memory.current"
MEMORY_DETAILS_FILE = "memory.stat"
#: Contents of files that the kernel gives back as soon as somebody wants the memory.
REUSABLE_MEMORY = "inactive_file"
UNLIMITED = "max"


def available_cores() -> int:
    """Cores that this process may use, at least one: by its affinity, and by the quota of its container."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = _words(CORES_FILE)
    if not limit or limit[0] == UNLIMITED:
        return cores
    quota, period = map(int, limit)
    return max(1, min(cores, quota // period))


def available_memory_bytes() -> int:
    """Memory that processes of this machine, or of this container, can still have."""
    free = int(psutil.virtual_memory().available)
    limit = _words(MEMORY_LIMIT_FILE)
    if not limit or limit[0] == UNLIMITED:
        return free
    used = int(_words(MEMORY_USE_FILE)[0]) - _reusable_bytes()
    return max(0, min(free, int(limit[0]) - used))


def _reusable_bytes() -> int:
    words = _words(MEMORY_DETAILS_FILE)
    details = dict(zip(words[::2], words[1::2], strict=True))
    return int(details.get(REUSABLE_MEMORY, 0))


def _words(name: str) -> list[str]:
    """What a file about the container says; nothing where there is none."""
    try:
        return (CONTAINER / name).read_text(encoding="ascii").split()
    except OSError:
        return []
