"""Files that are either wholly there or not there, after a kill or a power cut too.

A leaf beside ``errors``: the checkpoints (core) and the run folder (record) both write through it. Every
function lets ``OSError`` through; the caller knows what the file means and says so in its own error.
"""

import errno
import os
import secrets
import shutil
from pathlib import Path

TEMPORARY_PREFIX = ".tmp-"
NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
NO_PERMISSION = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


def temporary_sibling(path: Path) -> Path:
    """An unused name in the same folder: a rename is atomic only inside one file system."""
    return path.with_name(f"{TEMPORARY_PREFIX}{path.name}-{secrets.token_hex(4)}")


def write_new_file(path: Path, data: bytes) -> None:
    """Write ``data`` to a file that does not exist yet and wait until the disk has it."""
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until the disk has the folder's entries: an fsync of a file does not cover its name."""
    if os.name == "nt":  # Windows cannot open a folder for fsync and journals the entries by itself
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_file(path: Path, data: bytes) -> None:
    """Put ``data`` at ``path``: a reader sees the old content or the new, never a part."""
    temporary = temporary_sibling(path)
    try:
        write_new_file(temporary, data)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def rename_folder(source: Path, target: Path) -> None:
    """Rename inside one parent and wait until the disk knows."""
    source.rename(target)
    sync_folder(target.parent)


def remove_folder(folder: Path) -> None:
    """Delete a folder so that no half-deleted one is ever found under its name."""
    doomed = temporary_sibling(folder)
    folder.rename(doomed)
    shutil.rmtree(doomed)


def remove_temporaries(folder: Path) -> None:
    """Delete what writers that were killed left in ``folder``.

    Only for the one process that may write there.
    """
    for stale in folder.glob(f"{TEMPORARY_PREFIX}*"):
        if stale.is_dir() and not stale.is_symlink():
            shutil.rmtree(stale)
        else:
            stale.unlink()


def next_step_after(error: OSError) -> str:
    """What a person can do about a failed write, for the end of an error message."""
    if error.errno in NO_SPACE:
        return "free some disk space (or raise the quota) and try again; what was there before is intact"
    if error.errno in NO_PERMISSION:
        return "choose a place that you may write to, or change its permissions; nothing was changed"
    return "check the disk and the path, then try again; what was there before is intact"
