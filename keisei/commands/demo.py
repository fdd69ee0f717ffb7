"""`keisei demo`: a small run and the page that shows it, with one command and no settings."""

from __future__ import annotations

import re
import time
import webbrowser
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter
from rich.console import Console

from keisei.config_schema import RecordConfig
from keisei.errors import KeiseiError, PackageMissingError, WebError, WorkerFailedError

if TYPE_CHECKING:
    from keisei.commands.child_process import ChildProcess
    from keisei.record.run_directory import RunDirectory

DEFAULT_RUNS: Final = RecordConfig().runs_folder
#: A network that learns before one's eyes: updates take about a second on two cores, and games end soon.
SETTINGS: Final[dict[str, object]] = {
    "env.num_games": 64,
    "env.max_plies": 256,
    "model.architecture": "cnn",
    "model.blocks": 2,
    "model.channels": 24,
    "parallel.num_workers": 0,
    "training.device": "cpu",
    "training.total_plies": 3_000_000,
    "training.time_limit_seconds": 3600,
    "training.rollout_plies": 16,
    "training.checkpoint_interval_updates": 0,
    "training.checkpoint_interval_seconds": 10,
    "evaluation.opponents": ["random"],
    "evaluation.games": 20,
    "record.console": "off",
}
LOOK_SECONDS: Final = 0.2
#: How long the page may take to say where it is.
PAGE_SECONDS: Final = 60.0
ADDRESS: Final = re.compile(r"http://\S+")


def demo(
    *,
    runs: Annotated[Path, Parameter(help="Folder of all runs.")] = DEFAULT_RUNS,
    port: Annotated[int, Parameter(help="Port of the page; 0 takes a free one.")] = 0,
    open_: Annotated[bool, Parameter(name="--open", help="Open the browser.")] = True,
) -> None:
    """Train a small network on the CPU and watch it in the browser; Ctrl-C ends both."""
    if find_spec("nicegui") is None:
        raise PackageMissingError("the page needs NiceGUI; pip install 'keisei[web]'")

    from keisei.commands.child_process import ChildProcess
    from keisei.training.stop_signal import StopSignal

    console = Console(highlight=False, markup=False, soft_wrap=True)
    began = time.monotonic()
    run = _new_run(runs)
    with (
        StopSignal() as should_stop,
        ChildProcess(run.path / "web.log", "web", run.path, "--port", port, "--no-open") as page,
        ChildProcess(run.path / "train.log", "train", "--resume", run.path) as trainer,
    ):
        address = _address(page, should_stop)
        if address is None:
            return
        console.print(f"the page is at {address} (Ctrl-C ends it and the training)")
        if open_:
            webbrowser.open(address)
        _watch(run, page, trainer, should_stop, console.print, began)
    console.print(f"Everything is in {run.path}; go on with: keisei train --resume {run.path}")


def _new_run(runs: Path) -> RunDirectory:
    """A run folder with the demo's settings: trainer and page both find it there."""
    from keisei.config_loader import effective_yaml, load_config
    from keisei.record.run_directory import RunDirectory

    config = load_config(None, {**SETTINGS, "record.runs_folder": runs}).config
    run = RunDirectory.create(runs)
    run.write_config(effective_yaml(config))
    return run


def _address(page: ChildProcess, should_stop: Callable[[], bool]) -> str | None:
    """Where the page is; None when the user does not want to know any more."""
    deadline = time.monotonic() + PAGE_SECONDS
    while not should_stop():
        found = ADDRESS.search(page.log_path.read_text(encoding="utf-8", errors="replace"))
        if found is not None:
            return found[0]
        if page.exit_code is not None or time.monotonic() > deadline:
            raise WebError(f"the page did not start: {page.last_words()} (all of it is in {page.log_path})")
        time.sleep(LOOK_SECONDS)
    return None


def _watch(
    run: RunDirectory,
    page: ChildProcess,
    trainer: ChildProcess,
    should_stop: Callable[[], bool],
    tell: Callable[[str], None],
    began: float,
) -> None:
    """Until the user has seen enough, or the page or the trainer fails."""
    has_learned = has_ended = False
    while not should_stop():
        if not has_learned and _has_update(run):
            has_learned = True
            tell(f"the first update was done after {time.monotonic() - began:.0f} s")
        if page.exit_code is not None:
            raise WebError(f"the page has ended: {page.last_words()} (all of it is in {page.log_path})")
        if trainer.exit_code:
            raise WorkerFailedError(f"training has ended: {trainer.last_words()} (see {run.log_path})")
        if trainer.exit_code == 0 and not has_ended:
            has_ended = True
            tell("training has ended; the page stays until Ctrl-C")
        time.sleep(LOOK_SECONDS)


def _has_update(run: RunDirectory) -> bool:
    from keisei.record.journal_reader import JournalReader

    if not run.journal_path.is_file():
        return False
    try:
        with JournalReader(run.journal_path) as journal:
            return bool(journal.latest())
    except KeiseiError:  # the trainer is just making the file
        return False
