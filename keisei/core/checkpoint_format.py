"""One checkpoint folder on disk: its files, and the manifest that vouches for every byte of them.

    update-00000123/
        model.safetensors      one file per group of tensors; `model` is always there
        optimizer.safetensors
        state.json             everything that is plain JSON
        manifest.json          size and SHA-256 of each file, and of itself

safetensors alone notices truncation but lets 99 % of bit flips pass, hence the digests. This module needs no
torch, so `keisei runs` can verify checkpoints without loading it.
"""

import hashlib
import json
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from keisei.durable_files import sync_folder, write_new_file
from keisei.errors import CheckpointError, NewerCheckpointError

FORMAT_VERSION = 1
MANIFEST_FILE = "manifest.json"
STATE_FILE = "state.json"
TENSOR_SUFFIX = ".safetensors"
MODEL_GROUP = "model"
REQUIRED_FILES = frozenset({MODEL_GROUP + TENSOR_SUFFIX, STATE_FILE})
# A manifest names what is opened: plain names only, so that a hostile one cannot point out of its folder.
FILE_NAME = re.compile(r"state\.json|[a-z][a-z0-9_]*\.safetensors")
MAX_MANIFEST_BYTES = 1 << 24

USE_ANOTHER = "use an older checkpoint, or restore this one from a copy"


@dataclass(frozen=True)
class FileDigest:
    """What the manifest knows of a file."""

    size: int
    sha256: str

    @classmethod
    def of(cls, data: bytes) -> "FileDigest":
        """The digest of these bytes."""
        return cls(len(data), hashlib.sha256(data).hexdigest())


@dataclass(frozen=True)
class Manifest:
    """What a checkpoint says about itself. ``created`` is an ISO date and time in UTC."""

    update: int
    plies: int
    created: str
    architecture: Mapping[str, Any]
    files: Mapping[str, FileDigest]
    format_version: int = FORMAT_VERSION

    def to_bytes(self) -> bytes:
        """The one way to write this manifest; a file that differs from it in any bit is damaged."""
        return _sealed(asdict(self))


def _sealed(body: Mapping[str, Any]) -> bytes:
    return _canonical({**body, "sha256": hashlib.sha256(_canonical(body)).hexdigest()})


def _canonical(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, indent=2, sort_keys=True, allow_nan=False) + "\n").encode("ascii")


def write_folder(folder: Path, contents: Mapping[str, bytes], manifest: Manifest) -> None:
    """Create ``folder`` with these files and the manifest, all of it on the disk when this returns."""
    folder.mkdir()
    for name, data in contents.items():
        write_new_file(folder / name, data)
    write_new_file(folder / MANIFEST_FILE, manifest.to_bytes())
    sync_folder(folder)


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a checkpoint folder, checked against its own digest."""
    path = folder / MANIFEST_FILE
    body = _unsealed(_read_regular_file(path, MAX_MANIFEST_BYTES), path)
    version = body.get("format_version")
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise NewerCheckpointError(
            f"the checkpoint {folder!s} has format {version!r}, this Keisei reads up to {FORMAT_VERSION}; "
            "a newer Keisei wrote it: upgrade to continue, nothing was changed"
        )
    return _parse(body, path)


def _unsealed(raw: bytes, path: Path) -> dict[str, Any]:
    try:
        body = json.loads(raw)
        body.pop("sha256")
        is_whole = _sealed(body) == raw
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise CheckpointError(f"{path!s} is damaged ({error!r}); {USE_ANOTHER}") from error
    if not is_whole:
        raise CheckpointError(f"{path!s} is damaged: its content does not have its SHA-256; {USE_ANOTHER}")
    return dict(body)


def _parse(body: Mapping[str, Any], path: Path) -> Manifest:
    try:
        files = {name: FileDigest(**digest) for name, digest in body["files"].items()}
        manifest = Manifest(**{**body, "files": files})
        numbers = (manifest.update, manifest.plies, *(digest.size for digest in files.values()))
        is_sound = all(isinstance(number, int) and number >= 0 for number in numbers)
    except (KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{path!s} is no manifest ({error!r}); {USE_ANOTHER}") from error
    odd_names = [name for name in files if not FILE_NAME.fullmatch(name)]
    if not is_sound or odd_names or not files.keys() >= REQUIRED_FILES:
        raise CheckpointError(
            f"{path!s} is no manifest: expected counts of 0 or more and the files {sorted(REQUIRED_FILES)} "
            f"besides other tensor files, got {numbers!r} and {sorted(files)!r}; {USE_ANOTHER}"
        )
    return manifest


def read_files(folder: Path, manifest: Manifest) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of each file, one after the other. Only bytes that have their SHA-256 come out."""
    for name, expected in manifest.files.items():
        data = _read_regular_file(folder / name, expected.size)
        found = FileDigest.of(data)
        if found != expected:
            raise CheckpointError(
                f"{folder / name!s} is damaged: expected {expected.size} bytes with SHA-256 "
                f"{expected.sha256}, found {found.size} with {found.sha256}; {USE_ANOTHER}"
            )
        yield name, data


def verify_folder(folder: Path) -> Manifest:
    """Check every byte of a checkpoint without building its tensors; CheckpointError says what is wrong."""
    manifest = read_manifest(folder)
    for _ in read_files(folder, manifest):
        pass
    return manifest


def _read_regular_file(path: Path, max_size: int) -> bytes:
    """The bytes of a file; a pipe, a link or a file that is too large is refused before it can do harm."""
    try:
        info = path.lstat()
        if not stat.S_ISREG(info.st_mode) or info.st_size > max_size:
            raise CheckpointError(
                f"{path!s} is damaged: expected a regular file of at most {max_size} bytes, found "
                f"{stat.filemode(info.st_mode)} with {info.st_size} bytes; {USE_ANOTHER}"
            )
        return path.read_bytes()
    except FileNotFoundError:
        raise CheckpointError(f"{path!s} is missing; {USE_ANOTHER}") from None
    except OSError as error:
        raise CheckpointError(f"cannot read {path!s}: {error.strerror}; {USE_ANOTHER}") from error
