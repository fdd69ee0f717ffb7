"""The folder of a run: where each thing lies, how the folder is named, and which format it has.

runs/2026-11-15-quiet-lance/
    run.json        format version and birthday; a folder without it is no run
    config.yaml     the effective configuration
    journal.sqlite  metrics, games, events, evaluations
    registry.json   what the fixed opponents play among each other
    checkpoints/    one folder per checkpoint
    log.txt
    lock            held by the trainer, contains its pid
"""

import difflib
import json
import secrets
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from keisei.durable_files import next_step_after, replace_file, sync_folder
from keisei.errors import RunDirectoryError, UnknownRunError
from keisei.record.run_lock import RunLock, holder_pid
from keisei.record.run_names import NEWEST, check_name, invent_name

FORMAT_VERSION = 1
FORMAT_FILE = "run.json"
NAME_ATTEMPTS = 100


@dataclass(frozen=True)
class RunDirectory:
    """An existing run folder of a format that this Keisei reads. Made by ``create``, ``open`` or ``find``."""

    path: Path
    created: datetime

    @classmethod
    def create(cls, runs: Path, name: str | None = None) -> Self:
        """Make a new run folder under ``runs``; an existing one is never touched.

        None invents a readable name.
        """
        if name is not None:
            check_name(name)
        try:
            runs.mkdir(parents=True, exist_ok=True)
            path = _reserve_invented(runs) if name is None else _reserve(runs, name)
            return cls(path, _furnish(path))
        except OSError as error:
            raise RunDirectoryError(
                f"cannot create a run folder in {runs!s}: {error.strerror}; "
                f"{next_step_after(error)} (--runs DIR)"
            ) from error

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open an existing run folder, refusing what is no run and what a newer Keisei wrote."""
        return cls(path, _read_birthday(path))

    @classmethod
    def find(cls, runs: Path, name: str) -> Self:
        """The run called ``name``: a path, a name under ``runs``, or ``auto`` for the one trained last."""
        if name == NEWEST:
            return cls._trained_last(runs)
        for path in (Path(name), runs / name):
            if _is_run(path):
                return cls.open(path)
        close = difflib.get_close_matches(name, [run.name for run in list_runs(runs)], n=1)
        advice = f"did you mean {close[0]!r}?" if close else "`keisei runs` lists what is there"
        raise UnknownRunError(f"no run called {name!r} in {runs!s}; {advice}")

    @classmethod
    def _trained_last(cls, runs: Path) -> Self:
        found = list_runs(runs)
        if not found:
            raise RunDirectoryError(f"no run to continue in {runs!s}; start one with `keisei train`")
        return cls.open(max(found, key=lambda run: run.last_trained).path)

    @property
    def name(self) -> str:
        """The folder's own name; resolved, so that '.' works too."""
        return self.path.resolve().name

    @property
    def config_path(self) -> Path:
        """The effective configuration as YAML."""
        return self.path / "config.yaml"

    @property
    def journal_path(self) -> Path:
        """The SQLite journal."""
        return self.path / "journal.sqlite"

    @property
    def registry_path(self) -> Path:
        """What the fixed opponents of the run play among each other."""
        return self.path / "registry.json"

    @property
    def checkpoints_path(self) -> Path:
        """The folder of the checkpoint folders."""
        return self.path / "checkpoints"

    @property
    def log_path(self) -> Path:
        """The run's log."""
        return self.path / "log.txt"

    @property
    def lock_path(self) -> Path:
        """The trainer's lock."""
        return self.path / "lock"

    @property
    def last_trained(self) -> float:
        """When a trainer last took the folder (seconds since 1970); its birthday if none ever did."""
        try:
            return self.lock_path.stat().st_mtime
        except FileNotFoundError:
            return self.created.timestamp()

    @property
    def trainer_pid(self) -> int | None:
        """The pid of the trainer at work in this folder, None when there is none."""
        return holder_pid(self.lock_path)

    def lock(self) -> RunLock:
        """Take the folder for training; RunDirectoryError names the pid of the trainer that has it."""
        return RunLock(self.lock_path)

    def write_config(self, text: str) -> None:
        """Keep the effective configuration; the old text stays whole until the new one is."""
        try:
            replace_file(self.config_path, text.encode("utf-8"))
        except OSError as error:
            raise RunDirectoryError(
                f"cannot write {self.config_path!s}: {error.strerror}; {next_step_after(error)}"
            ) from error


def scan_runs(runs: Path) -> tuple[list[RunDirectory], list[RunDirectoryError]]:
    """Every run under ``runs``, oldest first, and why the others there cannot be read."""
    found: list[RunDirectory] = []
    refused: list[RunDirectoryError] = []
    for path in sorted(runs.glob(f"*/{FORMAT_FILE}")):
        try:
            found.append(RunDirectory.open(path.parent))
        except RunDirectoryError as error:
            refused.append(error)
    return sorted(found, key=lambda run: run.created), refused


def list_runs(runs: Path) -> list[RunDirectory]:
    """Every run under ``runs`` that this Keisei can read, oldest first."""
    return scan_runs(runs)[0]


def _is_run(path: Path) -> bool:
    try:
        return (path / FORMAT_FILE).is_file()
    except PermissionError as error:
        raise RunDirectoryError(
            f"cannot look into {path!s}: {error.strerror}; check its permissions"
        ) from error


def _reserve_invented(runs: Path) -> Path:
    today = datetime.now(UTC).astimezone().date()
    for _ in range(NAME_ATTEMPTS):
        path = runs / invent_name(today)
        try:
            path.mkdir()
        except FileExistsError:
            continue
        return path
    return _reserve(runs, f"{invent_name(today)}-{secrets.token_hex(4)}")


def _reserve(runs: Path, name: str) -> Path:
    path = runs / name
    try:
        path.mkdir()
    except FileExistsError:
        raise RunDirectoryError(
            f"a run called {name!r} exists already at {path!s}; choose another --name, "
            f"or continue it with --resume {name}"
        ) from None
    return path


def _furnish(path: Path) -> datetime:
    """Fill a folder that this process has just made; the format file comes last and makes it a run."""
    created = datetime.now(UTC).replace(microsecond=0)
    description = {"format_version": FORMAT_VERSION, "created": created.isoformat()}
    try:
        (path / "checkpoints").mkdir()
        replace_file(path / FORMAT_FILE, (json.dumps(description, indent=2) + "\n").encode("utf-8"))
        sync_folder(path.parent)
    except OSError:
        shutil.rmtree(path)
        raise
    return created


def _read_birthday(path: Path) -> datetime:
    """Check the format of the run folder ``path`` and say when it was made."""
    format_path = path / FORMAT_FILE
    try:
        version, created = _parse_description(format_path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise RunDirectoryError(
            f"{path!s} is no run folder: there is no {FORMAT_FILE} in it; `keisei runs` lists the runs"
        ) from None
    except OSError as error:
        raise RunDirectoryError(
            f"cannot read {format_path!s}: {error.strerror}; check its permissions"
        ) from error
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError) as error:
        raise RunDirectoryError(
            f"{format_path!s} is damaged ({error!r}), expected the keys format_version and created; "
            "copy the file from another run, the rest of the folder is untouched"
        ) from error
    if version > FORMAT_VERSION:
        raise RunDirectoryError(
            f"the run folder {path!s} has format {version!r}, this Keisei reads formats up to "
            f"{FORMAT_VERSION}; a newer Keisei wrote it: upgrade to continue, nothing was changed"
        )
    return created


def _parse_description(text: bytes) -> tuple[int, datetime]:
    description = json.loads(text)
    version = description["format_version"]
    if not isinstance(version, int) or version < 1:
        raise ValueError(f"format_version must be a positive whole number, got {version!r}")
    return version, datetime.fromisoformat(description["created"]).astimezone(UTC)
