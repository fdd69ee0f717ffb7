"""`keisei sweep`: search for good settings, each trial a real run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from keisei.durable_files import next_step_after, replace_file
from keisei.errors import ConfigError, PackageMissingError, SweepError

if TYPE_CHECKING:
    import optuna

    from keisei.commands.sweep_plan import SweepPlan

PLAN_FILE: Final = "plan.yaml"
LOCK_FILE: Final = "lock"
LOCK_SECONDS: Final = 0.5
DEFAULT_SWEEPS: Final = Path("sweeps")


def sweep(
    plan: Annotated[Path, Parameter(help="YAML file with the search space (docs/trackers.md).")],
    *,
    folder: Annotated[
        Path | None, Parameter(help="Folder of the sweep; sweeps/NAME-OF-THE-PLAN if not given.")
    ] = None,
    trials: Annotated[int | None, Parameter(help="Trials in all, instead of the plan's number.")] = None,
) -> None:
    """Search for good settings with Optuna. Ctrl-C is safe: the same command goes on with the sweep."""
    if find_spec("optuna") is None:
        raise PackageMissingError("a sweep needs Optuna; pip install 'keisei[sweep]'")
    from keisei.commands.sweep_plan import SweepPlan
    from keisei.training.stop_signal import StopSignal

    wanted = SweepPlan.read(plan)
    if trials is not None:
        if trials < 1:
            raise ConfigError(f"--trials expects 1 or more, got {trials!r}")
        wanted = wanted.model_copy(update={"trials": trials})
    place = folder or DEFAULT_SWEEPS / plan.stem
    console = Console(highlight=False, markup=False, soft_wrap=True)
    _prepare(place, plan)
    with _only_one(place), StopSignal() as should_stop:
        from keisei.commands.sweep_trials import Sweep

        running = Sweep(wanted, place, console.print, should_stop)
        try:
            running.run()
        finally:
            _show(console, running.study, wanted, place)
    if should_stop():
        again = f"keisei sweep {plan} --folder {place}"
        console.print(f"Stopped. Go on with: {again}")


def _prepare(folder: Path, plan: Path) -> None:
    """Make the folder, or make sure that it belongs to this plan."""
    from keisei.commands.sweep_plan import SweepPlan

    kept = folder / PLAN_FILE
    try:
        for part in ("runs", "logs"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        if not kept.is_file():
            replace_file(kept, plan.read_bytes())
    except OSError as error:
        raise SweepError(
            f"cannot write to the sweep's folder {str(folder)!r}: {error.strerror}; {next_step_after(error)}"
        ) from error
    ours, theirs = (SweepPlan.read(path).model_dump(exclude={"trials"}) for path in (plan, kept))
    if ours != theirs:
        changed = ", ".join(sorted(key for key in ours if ours[key] != theirs[key]))
        raise SweepError(
            f"the sweep in {str(folder)!r} was begun with another plan (different: {changed}); "
            "name another --folder, or put the plan back as it was"
        )


@contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    from keisei.record.run_lock import waiting_lock

    with waiting_lock(folder / LOCK_FILE, LOCK_SECONDS) as is_held:
        if not is_held:
            raise SweepError(
                f"another process is at work on the sweep in {str(folder)!r}; wait until it ends"
            )
        yield


def _show(console: Console, study: optuna.Study, plan: SweepPlan, folder: Path) -> None:
    """A table of all trials, and how to train with the best settings."""
    from keisei.commands.sweep_plan import as_text

    keys = list(plan.search)
    table = Table("trial", "state", plan.objective, *keys)
    for trial in study.trials:
        value = "-" if trial.value is None else f"{trial.value:.4g}"
        chosen = [_shown(trial.params.get(key)) for key in keys]
        table.add_row(str(trial.number), trial.state.name.lower(), value, *chosen)
    Console(highlight=False).print(table)
    ended = [trial for trial in study.trials if trial.value is not None and trial.state.name == "COMPLETE"]
    if not ended:
        console.print("No trial has been completed yet.")
        return
    best = max(ended, key=lambda trial: trial.value or 0.0)
    options = " ".join(f"--{key} {as_text(value)}" for key, value in best.params.items())
    console.print(f"Best: trial {best.number}, {plan.objective} {best.value:.4g}, in {folder / 'runs'}")
    console.print(f"  keisei train {options}")


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
