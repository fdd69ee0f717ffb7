"""Memory that one batch frees is kept for the next.

Every evaluation on a CPU takes and frees some megabytes. The C library of Linux hands them back to the kernel, which
gives them out again page by page, each filled with zeros: with 64 games that is nearly a thousand page faults a ply.
A process that has learned once is spared, since the large blocks of learning teach the library to keep more; one that
only plays is not.
"""

from __future__ import annotations

import ctypes
import sys

#: From <malloc.h>.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
#: Blocks up to this size come from the heap instead of the kernel; glibc before 2.35 takes no larger number.
LARGEST_HEAP_BLOCK_BYTES = 32 * 2**20
#: Free memory that the heap may end in before it is handed back.
KEPT_BYTES = 256 * 2**20


def keep_freed_memory() -> bool:
    """Asks the C library to keep freed memory, for the whole process; False where it cannot be asked."""
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
    if mallopt is None:
        return False
    return bool(mallopt(M_MMAP_THRESHOLD, LARGEST_HEAP_BLOCK_BYTES) and mallopt(M_TRIM_THRESHOLD, KEPT_BYTES))
