"""Shared memory: seen by both processes, refused when there is not enough, never left behind."""

import errno
import os
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from process_watch import open_descriptors

from keisei.errors import ConfigError
from keisei.record import machine_limits
from keisei.training.parallel.shared_memory import NAMED_SEGMENTS, SEGMENT_PREFIX, SharedRegion, new_region

#: The unit of `st_blocks`, whatever the file system's own is.
STAT_BLOCK_BYTES = 512
KINDS = [pytest.param(True, id="memfd"), pytest.param(False, id="named")]


def _increment(region: SharedRegion) -> None:
    words = np.frombuffer(region.buffer, np.int64)
    words += 1
    os._exit(0)


def segments() -> set[str]:
    """The named segments of this process; tests beside this one have theirs."""
    return {path.name for path in NAMED_SEGMENTS.glob(f"{SEGMENT_PREFIX}{os.getpid()}-*")}


@pytest.mark.parametrize("anonymous", KINDS)
def test_another_process_sees_and_writes_the_same_bytes(anonymous: bool) -> None:
    region = new_region(64, anonymous=anonymous)
    words = np.frombuffer(region.buffer, np.int64)
    assert not words.any()
    words[:] = np.arange(8)
    process = get_context("spawn").Process(target=_increment, args=(region,))
    process.start()
    process.join()
    assert words.tolist() == list(range(1, 9))
    del words
    region.close()


@pytest.mark.parametrize("anonymous", KINDS)
def test_closing_leaves_neither_a_name_nor_a_descriptor_even_while_arrays_live(anonymous: bool) -> None:
    before = open_descriptors()
    names = segments()
    region = new_region(1 << 16, anonymous=anonymous)
    array = np.frombuffer(region.buffer, np.uint8)
    region.close()
    assert segments() == names
    assert array.sum() == 0, "the memory goes with the array"
    del array, region
    assert open_descriptors() == before


@pytest.mark.parametrize("anonymous", KINDS)
def test_more_than_the_machine_has_is_one_clear_error(anonymous: bool) -> None:
    before = open_descriptors()
    with pytest.raises(ConfigError, match=r"cannot get [\d,]+ bytes of shared memory: .+; lower parallel"):
        new_region(1 << 60, anonymous=anonymous)
    assert open_descriptors() == before


def test_memfd_where_there_is_none_is_refused_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "memfd_create")
    with pytest.raises(ConfigError, match="use 'auto' or 'named'"):
        new_region(64, anonymous=True)
    names = segments()
    region = new_region(64)
    assert len(segments() - names) == 1, "without memfd a segment has a name"
    region.close()
    assert segments() == names


def test_memfd_has_no_name_that_could_be_left_behind() -> None:
    names = segments()
    region = new_region(64, anonymous=True)
    links = [path.readlink() for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
    assert segments() == names
    assert any("memfd:keisei (deleted)" in str(link) for link in links)
    region.close()


def test_more_than_a_container_has_left_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (("memory.max", "5000\n"), ("memory.current", "1200\n")):
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(machine_limits, "CONTAINER", tmp_path)
    with pytest.raises(ConfigError, match="3,800 bytes of memory are free"):
        new_region(4000)


def test_a_named_segment_has_its_pages_from_the_start() -> None:
    """A write where no page is left is a signal, so a lack must show before."""
    before, size = segments(), 1 << 20
    region = new_region(size, anonymous=False)
    (name,) = segments() - before
    assert (NAMED_SEGMENTS / name).stat().st_blocks * STAT_BLOCK_BYTES >= size
    region.close()


def test_a_named_segment_without_pages_is_refused_and_not_left_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    before = segments()
    with pytest.raises(ConfigError, match=r"No space left on device; lower parallel\.num_workers"):
        new_region(1 << 20, anonymous=False)
    assert segments() == before
