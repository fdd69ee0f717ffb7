"""Checkpoints that can be trusted: written whole or not at all, verified before use, read without pickle.

``CheckpointFolder`` is for everybody who reads; ``CheckpointStore`` is for the one trainer that holds the
run's lock.
"""

import json
import re
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
from torch import Tensor

from keisei.core.checkpoint_encoding import TensorGroups, encode_groups, encode_json
from keisei.core.checkpoint_format import (
    MODEL_GROUP,
    STATE_FILE,
    TENSOR_SUFFIX,
    USE_ANOTHER,
    FileDigest,
    Manifest,
    read_files,
    read_manifest,
    write_folder,
)
from keisei.core.model_factory import architecture_differences
from keisei.durable_files import (
    next_step_after,
    remove_folder,
    remove_temporaries,
    rename_folder,
    replace_file,
    temporary_sibling,
)
from keisei.errors import CheckpointError, NewerCheckpointError, NoGoodCheckpointError

NAME = re.compile(r"update-(\d{8,})")
BEST_FILE = "best"
REPLACED_PREFIX = ".old-"


@dataclass(frozen=True)
class Checkpoint:
    """A verified checkpoint in memory, its tensors on the CPU."""

    path: Path
    manifest: Manifest
    tensors: Mapping[str, dict[str, Tensor]]
    state: Mapping[str, Any]

    @property
    def model(self) -> dict[str, Tensor]:
        """The network's ``state_dict``."""
        return self.tensors[MODEL_GROUP]


@dataclass(frozen=True)
class SkippedCheckpoint:
    """A checkpoint that did not verify, and why."""

    path: Path
    reason: str


@dataclass(frozen=True)
class LatestGood:
    """The newest checkpoint that verifies, and the newer ones that do not."""

    checkpoint: Checkpoint
    skipped: tuple[SkippedCheckpoint, ...]


def load_checkpoint(path: Path, architecture: Mapping[str, Any] | None = None) -> Checkpoint:
    """Read and verify a checkpoint; with ``architecture``, refuse one that was made for another network."""
    manifest = read_manifest(path)
    if architecture is not None:
        refuse_other_architecture(path, manifest.architecture, architecture)
    tensors: dict[str, dict[str, Tensor]] = {}
    state: dict[str, Any] = {}
    for name, data in read_files(path, manifest):
        try:
            if name == STATE_FILE:
                state = dict(json.loads(data))
            else:
                tensors[name.removesuffix(TENSOR_SUFFIX)] = safetensors.torch.load(data)
        except (safetensors.SafetensorError, ValueError, TypeError, KeyError, RecursionError) as error:
            raise CheckpointError(f"{path / name!s} cannot be decoded ({error!r}); {USE_ANOTHER}") from error
    return Checkpoint(path, manifest, tensors, state)


def refuse_other_architecture(path: Path, saved: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Raise CheckpointError when a network was saved under another description than the one wanted."""
    differences = architecture_differences(saved, wanted)
    if differences:
        raise CheckpointError(
            f"the checkpoint {path!s} holds a network of the architecture {dict(saved)!r}, but the one "
            f"configured is {dict(wanted)!r}: {', '.join(differences)}; use the run's own config.yaml, "
            "or another checkpoint"
        )


class CheckpointFolder:
    """The checkpoints of a run, for reading only."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def paths(self) -> list[Path]:
        """Every checkpoint by its name, oldest first, verified or not."""
        try:
            found = {_update_of(path.name): path for path in self.folder.iterdir() if path.is_dir()}
        except FileNotFoundError:
            return []
        except OSError as error:
            raise CheckpointError(
                f"cannot list the checkpoints in {self.folder!s}: {error.strerror}; check its permissions"
            ) from error
        return [found[update] for update in sorted(update for update in found if update is not None)]

    def latest_good(self) -> LatestGood:
        """Load the newest checkpoint that verifies, walking back over damaged ones."""
        skipped: list[SkippedCheckpoint] = []
        for path in reversed(self.paths()):
            try:
                return LatestGood(self._load_under_its_name(path), tuple(skipped))
            except NewerCheckpointError:  # not damage: going back behind it would throw training away
                raise
            except CheckpointError as error:
                skipped.append(SkippedCheckpoint(path, str(error)))
        raise NoGoodCheckpointError(_nothing_good(self.folder, skipped))

    def _load_under_its_name(self, path: Path) -> Checkpoint:
        checkpoint = load_checkpoint(path)
        if checkpoint.manifest.update != _update_of(path.name):
            raise CheckpointError(
                f"{path!s} holds update {checkpoint.manifest.update}, not what its name says; rename it back"
            )
        return checkpoint

    def path_of(self, update: int) -> Path:
        """Where the checkpoint of an update is, or would be."""
        return self.folder / _name_of(update)

    def best_path(self) -> Path | None:
        """The checkpoint that was marked best, None if none was or it is gone."""
        pointer = self.folder / BEST_FILE
        try:
            name = pointer.read_bytes().decode("ascii").strip()
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise CheckpointError(
                f"cannot read {pointer!s} ({error}); delete it and mark the best again"
            ) from error
        if _update_of(name) is None:
            raise CheckpointError(
                f"{pointer!s} should name a checkpoint like update-00000123, got {name!r}; "
                "delete it and mark the best again"
            )
        path = self.folder / name
        return path if path.is_dir() else None


class CheckpointStore(CheckpointFolder):
    """The checkpoints of a run, for its trainer: opening it clears away what a killed trainer left half-done.

    Kept are the newest ``keep_last``, every one whose update is a multiple of ``keep_every`` (0 = none), the
    best, and those that somebody holds.
    """

    def __init__(self, folder: Path, keep_last: int = 5, keep_every: int = 0) -> None:
        if keep_last < 1 or keep_every < 0:
            raise CheckpointError(
                f"at least the newest checkpoint is kept, got {keep_last=!r} and {keep_every=!r}; "
                "set keep_last to 1 or more and keep_every to 0 or more"
            )
        super().__init__(folder)
        self.keep_last = keep_last
        self.keep_every = keep_every
        self._held: dict[str, frozenset[Path]] = {}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._finish_replacements()
            remove_temporaries(folder)
        except OSError as error:
            raise CheckpointError(
                f"cannot open {folder!s} for checkpoints: {error.strerror}; {next_step_after(error)}"
            ) from error

    def save(
        self,
        update: int,
        *,
        plies: int,
        architecture: Mapping[str, Any],
        tensors: TensorGroups,
        state: Mapping[str, Any],
    ) -> Path:
        """Write a checkpoint and delete those that retention lets go.

        ``tensors`` are groups of named tensors, one file each; ``model`` must be among them. ``state`` is
        plain JSON. Nothing that is not finite gets in. On any failure CheckpointError is raised and all older
        ones are intact.
        """
        contents = {**encode_groups(tensors), STATE_FILE: encode_json("state", dict(state))}
        manifest = Manifest(
            update=int(update),
            plies=int(plies),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            architecture=json.loads(encode_json("architecture", dict(architecture))),
            files={name: FileDigest.of(data) for name, data in contents.items()},
        )
        target = self.folder / _name_of(update)
        temporary = temporary_sibling(target)
        try:
            write_folder(temporary, contents, manifest)
            self._put_in_place(temporary, target)
        except OSError as error:
            shutil.rmtree(temporary, ignore_errors=True)  # the error to report is the first one
            with suppress(OSError):
                self._finish_replacements()
            raise CheckpointError(
                f"cannot write the checkpoint {target!s}: {error.strerror}; {next_step_after(error)}"
            ) from error
        self._prune(update)
        return target

    def hold(self, purpose: str, paths: Iterable[Path]) -> None:
        """Keep these checkpoints, whatever retention says, until the same purpose holds others."""
        self._held[purpose] = frozenset(paths)

    def remove_after(self, update: int) -> None:
        """Delete the checkpoints of later updates, newest first: the run goes on from ``update``."""
        for path in reversed(self.paths()):
            if (_update_of(path.name) or 0) > update:
                self._remove(path, f"the run goes back to update {update}")

    def mark_best(self, path: Path) -> None:
        """Point at the best checkpoint so far; retention keeps it, and lets the former best go."""
        if path.parent != self.folder or _update_of(path.name) is None or not path.is_dir():
            raise CheckpointError(
                f"expected a checkpoint in {self.folder!s}, got {path!s}; pass what save() returned"
            )
        try:
            replace_file(self.folder / BEST_FILE, f"{path.name}\n".encode("ascii"))
        except OSError as error:
            raise CheckpointError(
                f"cannot mark {path!s} as the best: {error.strerror}; {next_step_after(error)}"
            ) from error

    def _put_in_place(self, temporary: Path, target: Path) -> None:
        # A folder cannot be renamed over another. The old one steps aside under a name that opening undoes.
        replaced = self.folder / f"{REPLACED_PREFIX}{target.name}"
        if target.exists():
            rename_folder(target, replaced)
        rename_folder(temporary, target)
        if replaced.exists():
            remove_folder(replaced)

    def _finish_replacements(self) -> None:
        for replaced in self.folder.glob(f"{REPLACED_PREFIX}*"):
            target = self.folder / replaced.name.removeprefix(REPLACED_PREFIX)
            if target.exists():
                remove_folder(replaced)
            else:
                rename_folder(replaced, target)

    def _prune(self, newest: int) -> None:
        """Delete what retention lets go, among the checkpoints up to ``newest``; later ones are not judged.

        A run that went back behind damaged checkpoints has folders of later updates; they must not count as
        the newest and push out the one just saved.
        """
        candidates = [path for path in self.paths() if (_update_of(path.name) or 0) <= newest]
        kept = {*candidates[-self.keep_last :], *self._milestones(candidates), self.best_path()}
        kept.update(*self._held.values())
        for path in candidates:
            if path not in kept:
                self._remove(path, f"update {newest} is saved")

    def _remove(self, path: Path, achieved: str) -> None:
        try:
            remove_folder(path)
        except OSError as error:
            raise CheckpointError(
                f"{achieved}, but the checkpoint {path!s} cannot be deleted: {error.strerror}; delete it by hand"
            ) from error

    def _milestones(self, paths: Iterable[Path]) -> list[Path]:
        return [
            path for path in paths if self.keep_every and (_update_of(path.name) or 0) % self.keep_every == 0
        ]


def _name_of(update: int) -> str:
    return f"update-{update:08d}"


def _update_of(name: str) -> int | None:
    matched = NAME.fullmatch(name)
    update = int(matched[1]) if matched else None
    return update if update is not None and _name_of(update) == name else None


def _nothing_good(folder: Path, skipped: Iterable[SkippedCheckpoint]) -> str:
    reasons = "; ".join(entry.reason for entry in skipped)
    if not reasons:
        return f"there is no checkpoint in {folder!s}; the run ended before its first one: start a new run"
    return f"no checkpoint in {folder!s} is good: {reasons}"
