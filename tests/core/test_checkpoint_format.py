"""Tests of keisei.core.checkpoint_format: the manifest, and files that were tampered with."""

import hashlib
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from keisei.core.checkpoint_format import (
    FORMAT_VERSION,
    MANIFEST_FILE,
    MAX_MANIFEST_BYTES,
    FileDigest,
    Manifest,
    read_files,
    read_manifest,
    verify_folder,
    write_folder,
)
from keisei.errors import CheckpointError, NewerCheckpointError

CONTENTS = {"model.safetensors": b"weights" * 100, "optimizer.safetensors": b"", "state.json": b'{"a": 1}'}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {name: FileDigest.of(data) for name, data in CONTENTS.items()}
    manifest = Manifest(12, 3456, "2026-11-15T12:00:00+00:00", {"architecture": "cnn", "blocks": 2}, files)
    write_folder(tmp_path / "checkpoint", CONTENTS, manifest)
    return tmp_path / "checkpoint"


def seal(body: dict[str, Any]) -> bytes:
    """An independent way to write a manifest that vouches for itself."""
    text = json.dumps(body, indent=2, sort_keys=True) + "\n"
    digest = hashlib.sha256(text.encode()).hexdigest()
    return (json.dumps({**body, "sha256": digest}, indent=2, sort_keys=True) + "\n").encode()


def change_manifest(folder: Path, **changes: object) -> None:
    """Forge a manifest whose own digest is right."""
    path = folder / MANIFEST_FILE
    body = json.loads(path.read_bytes())
    del body["sha256"]
    path.write_bytes(seal({**body, **changes}))


def test_a_folder_comes_back_as_it_was_written(folder: Path) -> None:
    manifest = verify_folder(folder)
    assert (manifest.update, manifest.plies, manifest.architecture) == (
        12,
        3456,
        {"architecture": "cnn", "blocks": 2},
    )
    assert dict(read_files(folder, manifest)) == CONTENTS
    assert read_manifest(folder) == manifest


def test_sha_the_manifest_has_size_and_sha256_of_every_file_and_of_itself(folder: Path) -> None:
    body = json.loads((folder / MANIFEST_FILE).read_bytes())
    for name, data in CONTENTS.items():
        assert body["files"][name] == {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    del body["sha256"]
    assert seal(body) == (folder / MANIFEST_FILE).read_bytes()


def test_sha_a_flip_in_any_byte_of_the_manifest_is_damage(folder: Path) -> None:
    path = folder / MANIFEST_FILE
    whole = path.read_bytes()
    bits = random.Random(1)
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << bits.randrange(8)
        path.write_bytes(damaged)
        with pytest.raises(CheckpointError, match=r"manifest\.json") as caught:
            read_manifest(folder)
        assert not isinstance(caught.value, NewerCheckpointError)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"[" * 100_000,
        b'{"sha256": 1}',
        b"\x80\x04K\x01.",
        b"\xff\xfe",
        b"1" * 5000,
    ],
)
def test_what_is_no_manifest_is_a_clear_error(folder: Path, raw: bytes) -> None:
    (folder / MANIFEST_FILE).write_bytes(raw)
    with pytest.raises(CheckpointError, match=r"manifest\.json is damaged"):
        read_manifest(folder)


@pytest.mark.parametrize(
    "changes",
    [
        {"update": -1},
        {"update": "12"},
        {"plies": 1.5},
        {"files": {}},
        {"files": []},
        {"files": {"model.safetensors": {"size": 1}}},
        {"unknown": 1},
    ],
)
def test_a_forged_manifest_with_odd_content_is_refused(folder: Path, changes: dict[str, object]) -> None:
    change_manifest(folder, **changes)
    with pytest.raises(CheckpointError, match="is no manifest"):
        read_manifest(folder)


@pytest.mark.parametrize(
    "name", ["../secret", "/etc/passwd", "a/b.safetensors", "..", "manifest.json", "x.pt"]
)
def test_a_forged_manifest_cannot_point_out_of_its_folder(folder: Path, name: str) -> None:
    (folder.parent / "secret").write_bytes(b"secret")
    files = json.loads((folder / MANIFEST_FILE).read_bytes())["files"]
    digest = {"size": 6, "sha256": hashlib.sha256(b"secret").hexdigest()}
    change_manifest(folder, files={**files, name: digest})
    with pytest.raises(CheckpointError, match="is no manifest"):
        verify_folder(folder)


def test_a_newer_format_is_told_from_damage(folder: Path) -> None:
    change_manifest(folder, format_version=FORMAT_VERSION + 3, something="new", files={})
    with pytest.raises(
        NewerCheckpointError, match=rf"format {FORMAT_VERSION + 3}.*up to {FORMAT_VERSION}.*upgrade"
    ):
        read_manifest(folder)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_or_a_link_in_place_of_a_file_is_refused_without_waiting(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    os.mkfifo(folder / "model.safetensors")
    with pytest.raises(CheckpointError, match="regular file"):
        verify_folder(folder)
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to("/dev/zero")
    with pytest.raises(CheckpointError, match="regular file"):
        verify_folder(folder)


def test_a_file_that_is_far_too_large_is_refused_unread(folder: Path) -> None:
    for name, limit in (("model.safetensors", 700), (MANIFEST_FILE, MAX_MANIFEST_BYTES)):
        with (folder / name).open("r+b") as file:
            file.truncate(1 << 40)  # sparse: no disk is used
        with pytest.raises(CheckpointError, match=rf"{name} is damaged.*at most {limit} bytes.*{1 << 40}"):
            verify_folder(folder)


def test_verifying_needs_no_torch() -> None:
    program = "import sys, keisei.core.checkpoint_format; sys.exit('torch' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", program], cwd=Path(__file__).parents[2], check=False).returncode
        == 0
    )
