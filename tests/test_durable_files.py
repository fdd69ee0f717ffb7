"""Tests of keisei.durable_files."""

import errno
from pathlib import Path

import pytest

from keisei.durable_files import (
    TEMPORARY_PREFIX,
    next_step_after,
    remove_folder,
    remove_temporaries,
    rename_folder,
    replace_file,
    temporary_sibling,
    write_new_file,
)

FILE_LIMIT_BYTES = 1000

REPLACE_UNDER_A_LIMIT = """
import resource, sys
from pathlib import Path
from keisei.durable_files import replace_file

resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    replace_file(Path(sys.argv[1]), b"n" * 100_000)
except OSError as error:
    print(error.errno)
"""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_replaced_file_has_the_new_content_and_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "file"
    replace_file(path, b"one")
    replace_file(path, b"two")
    assert path.read_bytes() == b"two"
    assert names(tmp_path) == ["file"]


def test_tmp_a_failed_replacement_keeps_the_old_file_and_no_temporary(tmp_path: Path, start_python) -> None:
    path = tmp_path / "file"
    replace_file(path, b"old")
    output, errors = start_python(REPLACE_UNDER_A_LIMIT, path, FILE_LIMIT_BYTES).communicate()
    assert (output.strip(), errors) == (str(errno.EFBIG), "")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file"]


def test_a_new_file_never_overwrites(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_new_file(path, b"first")
    with pytest.raises(FileExistsError):
        write_new_file(path, b"second")
    assert path.read_bytes() == b"first"


def test_a_temporary_lies_beside_its_target_under_a_new_name_each_time(tmp_path: Path) -> None:
    path = tmp_path / "target"
    temporaries = {temporary_sibling(path) for _ in range(50)}
    assert len(temporaries) == 50
    assert all(t.parent == tmp_path and t.name.startswith(TEMPORARY_PREFIX) for t in temporaries)


def test_folders_are_renamed_and_removed_whole(tmp_path: Path) -> None:
    (tmp_path / "one" / "inside").mkdir(parents=True)
    rename_folder(tmp_path / "one", tmp_path / "two")
    assert names(tmp_path) == ["two"]
    remove_folder(tmp_path / "two")
    assert names(tmp_path) == []


def test_only_temporaries_are_cleared_away_and_links_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("kept")
    folder = tmp_path / "folder"
    (folder / f"{TEMPORARY_PREFIX}a" / "deep").mkdir(parents=True)
    (folder / f"{TEMPORARY_PREFIX}b").write_text("half")
    (folder / f"{TEMPORARY_PREFIX}c").symlink_to(outside)
    (folder / "good").write_text("kept")
    remove_temporaries(folder)
    assert names(folder) == ["good"]
    assert (outside / "precious").read_text() == "kept"


@pytest.mark.parametrize(
    ("code", "advice"),
    [(errno.ENOSPC, "disk space"), (errno.EACCES, "may write"), (errno.EIO, "check the disk")],
)
def test_the_next_step_fits_the_error(code: int, advice: str) -> None:
    assert advice in next_step_after(OSError(code, "text"))
