"""`keisei runs` and `keisei inspect`: what is there, and whether it can be trusted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from keisei.config_schema import RecordConfig
from keisei.errors import JournalError, KeiseiError
from keisei.networks import CARD_FILE, shipped_network
from keisei.record.journal_reader import JournalReader
from keisei.record.run_directory import RunDirectory, scan_runs
from keisei.record.strength import rated_updates, strongest

if TYPE_CHECKING:
    from keisei.record.journal_reader import Entry
    from keisei.record.journal_schema import Evaluation

RunsFolder = Annotated[Path, Parameter(help="Folder of all runs.")]
DEFAULT_RUNS = RecordConfig().runs_folder
MANIFEST = "manifest.json"
SHOWN_EVENTS = 5
#: Shown for a run whose journal cannot be read.
UNKNOWN = "?"
#: Shown where nothing has been measured.
NOTHING = "-"
INSPECTED_METRICS = ("entropy", "value_loss", "explained_variance", "approx_kl", "plies_per_second")


def list_all(*, runs: RunsFolder = DEFAULT_RUNS) -> None:
    """List the runs: progress, last measured strength, and whether a trainer is at work."""
    console = Console(highlight=False)
    found, refused = scan_runs(runs)
    problems: list[KeiseiError] = [*refused]
    table = Table("run", "updates", "plies", "strength", "strongest", "state")
    for run in found:
        state = f"training (pid {run.trainer_pid})" if run.trainer_pid else "at rest"
        try:
            progress = _progress(run)
        except JournalError as error:
            problems.append(error)
            table.add_row(run.name, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, state)
        else:
            counts = (str(progress.update), f"{progress.plies:,}")
            table.add_row(run.name, *counts, progress.strength, progress.strongest, state)
    console.print(table if found else f"no runs in {runs}; start one with `keisei train`")
    for problem in problems:
        console.print(f"not readable: {problem}", markup=False)


def inspect(
    target: Annotated[str, Parameter(help="A run (name or folder), a checkpoint folder, or shipped.")],
    *,
    runs: RunsFolder = DEFAULT_RUNS,
) -> None:
    """Show what a run or a checkpoint holds, after verifying every byte."""
    console = Console(highlight=False, markup=False, soft_wrap=True)
    path = shipped_network(target) or Path(target)
    if (path / MANIFEST).is_file():
        _show_checkpoint(console, path)
        return
    run = RunDirectory.find(runs, target)
    progress = _progress(run)
    counts = f"{progress.update} updates, {progress.plies:,} plies"
    console.print(f"run {run.name}: {counts}, made {run.created:%Y-%m-%d %H:%M} UTC")
    console.print(f"folder {run.path}")
    if run.trainer_pid:
        console.print(f"being trained by process {run.trainer_pid}")
    _show_journal(console, run)
    _show_checkpoints(console, run)


class _Progress(NamedTuple):
    """How far a run is and how strong, from its journal."""

    update: int = 0
    plies: int = 0
    #: The last score against each opponent.
    strength: str = NOTHING
    #: The rating with the highest lower bound.
    strongest: str = NOTHING


def _progress(run: RunDirectory) -> _Progress:
    if not run.journal_path.is_file():
        return _Progress()
    with JournalReader(run.journal_path) as journal:
        newest = max(journal.latest().values(), key=lambda point: point.update, default=None)
        strength = ", ".join(_strength(entry.content) for entry in _last_of_each(journal)) or NOTHING
        best = strongest(rated_updates(journal.ratings()))
    update, plies = (0, 0) if newest is None else (newest.update, newest.plies)
    return _Progress(update, plies, strength, NOTHING if best is None else str(best))


def _last_of_each(journal: JournalReader) -> list[Entry[Evaluation]]:
    """The measurement of the latest update by opponent; results may have come in another order."""
    ordered = sorted(journal.evaluations(), key=lambda entry: entry.update)
    newest = {entry.content.opponent: entry for entry in ordered}
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
        best = strongest(rated_updates(journal.ratings()))
        if best is not None:
            console.print(f"  strongest: {best}; play against it as policy:{run.name}@strongest")
        for event in journal.events(last=SHOWN_EVENTS):
            console.print(f"  event at update {event.update}: {event.content.message}")


def _show_checkpoints(console: Console, run: RunDirectory) -> None:
    from keisei.core.checkpoint import CheckpointFolder, load_checkpoint
    from keisei.errors import CheckpointError

    folder = CheckpointFolder(run.checkpoints_path)
    best = None
    try:
        best = folder.best_path()
    except CheckpointError as error:
        console.print(f"  {error}")
    for path in folder.paths():
        mark = ", the strongest" if path == best else ""
        try:
            manifest = load_checkpoint(path).manifest
        except CheckpointError as error:
            console.print(f"  {path.name}: NOT GOOD: {error}")
        else:
            console.print(f"  {path.name}: verified, {manifest.plies:,} plies, {manifest.created}{mark}")


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
    if (path / CARD_FILE).is_file():
        console.print(f"model card {path / CARD_FILE}")
