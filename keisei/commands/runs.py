"""`keisei runs` and `keisei inspect`: what is there, and whether it can be trusted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from keisei.config_schema import RecordConfig
from keisei.errors import JournalError, KeiseiError
from keisei.record.journal_reader import JournalReader
from keisei.record.run_directory import RunDirectory, scan_runs

if TYPE_CHECKING:
    from keisei.record.journal_reader import Entry
    from keisei.record.journal_schema import Evaluation

RunsFolder = Annotated[Path, Parameter(help="Folder of all runs.")]
DEFAULT_RUNS = RecordConfig().runs_folder
MANIFEST = "manifest.json"
SHOWN_EVENTS = 5
#: Shown for a run whose journal cannot be read.
UNKNOWN = "?"
INSPECTED_METRICS = ("entropy", "value_loss", "explained_variance", "approx_kl", "plies_per_second")


def list_all(*, runs: RunsFolder = DEFAULT_RUNS) -> None:
    """List the runs: progress, last measured strength, and whether a trainer is at work."""
    console = Console(highlight=False)
    found, refused = scan_runs(runs)
    problems: list[KeiseiError] = [*refused]
    table = Table("run", "updates", "plies", "strength", "state")
    for run in found:
        state = f"training (pid {run.trainer_pid})" if run.trainer_pid else "at rest"
        try:
            update, plies, strength = _progress(run)
        except JournalError as error:
            problems.append(error)
            table.add_row(run.name, UNKNOWN, UNKNOWN, UNKNOWN, state)
        else:
            table.add_row(run.name, str(update), f"{plies:,}", strength, state)
    console.print(table if found else f"no runs in {runs}; start one with `keisei train`")
    for problem in problems:
        console.print(f"not readable: {problem}", markup=False)


def inspect(
    target: Annotated[str, Parameter(help="A run (name or folder) or a checkpoint folder.")],
    *,
    runs: RunsFolder = DEFAULT_RUNS,
) -> None:
    """Show what a run or a checkpoint holds, after verifying every byte."""
    console = Console(highlight=False, markup=False, soft_wrap=True)
    path = Path(target)
    if (path / MANIFEST).is_file():
        _show_checkpoint(console, path)
        return
    run = RunDirectory.find(runs, target)
    update, plies, _ = _progress(run)
    console.print(f"run {run.name}: {update} updates, {plies:,} plies, made {run.created:%Y-%m-%d %H:%M} UTC")
    console.print(f"folder {run.path}")
    if run.trainer_pid:
        console.print(f"being trained by process {run.trainer_pid}")
    _show_journal(console, run)
    _show_checkpoints(console, run)


def _progress(run: RunDirectory) -> tuple[int, int, str]:
    """Updates, plies and the last measured strength, from the journal."""
    if not run.journal_path.is_file():
        return 0, 0, "-"
    with JournalReader(run.journal_path) as journal:
        newest = max(journal.latest().values(), key=lambda point: point.update, default=None)
        strength = ", ".join(_strength(entry.content) for entry in _last_of_each(journal)) or "-"
    return (0, 0, strength) if newest is None else (newest.update, newest.plies, strength)


def _last_of_each(journal: JournalReader) -> list[Entry[Evaluation]]:
    newest = {entry.content.opponent: entry for entry in journal.evaluations()}
    return list(newest.values())


def _strength(evaluation: Evaluation) -> str:
    return f"{evaluation.opponent} {evaluation.score:.1%} [{evaluation.low:.1%}, {evaluation.high:.1%}]"


def _show_journal(console: Console, run: RunDirectory) -> None:
    if not run.journal_path.is_file():
        return
    with JournalReader(run.journal_path) as journal:
        latest = journal.latest()
        for name in INSPECTED_METRICS:
            if name in latest and latest[name].value is not None:
                console.print(f"  {name:<20} {latest[name].value:.4g}")
        for entry in _last_of_each(journal):
            console.print(f"  against {_strength(entry.content)} after update {entry.update}")
        for event in journal.events(last=SHOWN_EVENTS):
            console.print(f"  event at update {event.update}: {event.content.message}")


def _show_checkpoints(console: Console, run: RunDirectory) -> None:
    from keisei.core.checkpoint import CheckpointFolder, load_checkpoint
    from keisei.errors import CheckpointError

    for path in CheckpointFolder(run.checkpoints_path).paths():
        try:
            manifest = load_checkpoint(path).manifest
        except CheckpointError as error:
            console.print(f"  {path.name}: NOT GOOD: {error}")
        else:
            console.print(f"  {path.name}: verified, {manifest.plies:,} plies, {manifest.created}")


def _show_checkpoint(console: Console, path: Path) -> None:
    from keisei.core.checkpoint import load_checkpoint

    checkpoint = load_checkpoint(path)
    manifest = checkpoint.manifest
    parameters = sum(tensor.numel() for tensor in checkpoint.model.values())
    console.print(f"checkpoint {path}: verified")
    console.print(f"update {manifest.update}, {manifest.plies:,} plies, written {manifest.created}")
    console.print(f"{parameters:,} parameters; architecture {manifest.architecture}")
    for name, digest in sorted(manifest.files.items()):
        console.print(f"  {name:<24} {digest.size:>12,} bytes  sha256 {digest.sha256}")
