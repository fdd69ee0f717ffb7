"""`keisei train` and `keisei config`."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.console import Console

from keisei.config_loader import LoadedConfig, effective_yaml, load_config, parse_override_tokens
from keisei.config_schema import AppConfig
from keisei.core.rank_place import RankPlace
from keisei.durable_files import next_step_after
from keisei.errors import ConfigError, RunDirectoryError

if TYPE_CHECKING:
    from keisei.core.ranks import Ranks
    from keisei.evaluation.scores import Score
    from keisei.record.run_directory import RunDirectory
    from keisei.training.trainer import TrainingReport

ConfigFile = Annotated[
    Path | None, Parameter(name="--config", help="YAML file; settings not in it keep their defaults.")
]
Settings = Annotated[
    str,
    Parameter(
        name="SETTINGS",
        show=True,
        allow_leading_hyphen=True,
        help="Any setting, as --section.key value, e.g. --training.learning_rate 1e-4 (docs/configuration.md).",
    ),
]
LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
RANK_FORMAT = "rank {}: %(levelname)s %(name)s: %(message)s"


def train(
    *settings: Settings,
    config: ConfigFile = None,
    runs: Annotated[Path | None, Parameter(help="Folder of all runs (record.runs_folder).")] = None,
    name: Annotated[str | None, Parameter(help="Name of the new run (record.name).")] = None,
    resume: Annotated[
        str | None,
        Parameter(help="Go on with this run (name or folder), or with the one trained last: auto."),
    ] = None,
    profile: Annotated[
        bool, Parameter(help="Write a torch.profiler trace and a phase table.", negative="")
    ] = False,
) -> None:
    """Train a shogi player by self-play.

    Settings come from the defaults, then the file, then variables such as KEISEI_TRAINING__SEED, then options.
    Ctrl-C writes a checkpoint and ends; `keisei train --resume auto` goes on from there.
    On several GPUs: `torchrun --nproc-per-node N -m keisei train …`.
    """
    overrides = parse_override_tokens(settings)
    for key, value in (
        ("record.runs_folder", runs),
        ("record.name", name),
        ("training.profile", profile or None),
    ):
        if value is not None:
            overrides[key] = str(value)
    place = RankPlace.of(os.environ)

    def begin() -> tuple[RunDirectory, AppConfig]:
        run, loaded = (
            _new(config, overrides, place) if resume is None else _resumed(config, overrides, resume, place)
        )
        _log_to(run.log_path, loaded.config.record.log_level)
        return run, loaded.config

    if place.is_alone:
        _print_report(_train(*begin(), resume=resume is not None))
    else:
        _train_with_others(place, begin, resume=resume is not None)


def _train_with_others(
    place: RankPlace, begin: Callable[[], tuple[RunDirectory, AppConfig]], *, resume: bool
) -> None:
    """As one of several processes: the first makes the run and tells the others its settings, and reports."""
    from keisei.core.ranks import joined_ranks
    from keisei.record.run_directory import RunDirectory

    if place.is_first:
        # Before the others are met: wrong settings are an error at once.
        run, config = begin()
        with joined_ranks(place) as ranks:
            ranks.told(config)
            _print_report(_train(run, config, ranks, resume=resume))
        return
    _log_as_rank(place.rank)
    # The same loop runs on every rank. What this one records is for nobody, and goes when it ends.
    with (
        TemporaryDirectory(prefix=f"keisei-rank-{place.rank}-") as folder,
        joined_ranks(place) as ranks,
    ):
        config = ranks.told(AppConfig())
        _train(RunDirectory.create(Path(folder)), config, ranks, resume=False)


def show_config(*settings: Settings, config: ConfigFile = None) -> None:
    """Print every setting as YAML, with where its value comes from."""
    loaded = load_config(config, parse_override_tokens(settings), os.environ)
    Console(highlight=False, markup=False, soft_wrap=True).print(
        effective_yaml(loaded.config, loaded.origins), end=""
    )


def _new(
    config: Path | None, overrides: dict[str, str], place: RankPlace
) -> tuple[RunDirectory, LoadedConfig]:
    from keisei.record.run_directory import RunDirectory
    from keisei.training.rank_config import check_shares

    loaded = load_config(config, overrides, os.environ)
    check_shares(loaded.config, place)
    record = loaded.config.record
    run = RunDirectory.create(record.runs_folder, record.name)
    # Long before the trainer is ready to: a run that is killed meanwhile can go on with its settings.
    run.write_config(effective_yaml(loaded.config))
    return run, loaded


def _resumed(
    config: Path | None, overrides: dict[str, str], resume: str, place: RankPlace
) -> tuple[RunDirectory, LoadedConfig]:
    """The run and its own settings, on which only the command line may improve."""
    from keisei.record.run_directory import RunDirectory
    from keisei.training.rank_config import check_shares

    if config is not None:
        raise ConfigError(
            f"--config {str(config)!r} contradicts --resume {resume!r}: a run goes on with its own config.yaml; "
            "change single settings with --section.key value"
        )
    if "record.name" in overrides:
        raise ConfigError(
            f"--name {overrides['record.name']!r} contradicts --resume {resume!r}: a run keeps its name; leave one out"
        )
    runs_folder = Path(
        overrides.get("record.runs_folder", load_config(None, {}, os.environ).config.record.runs_folder)
    )
    run = RunDirectory.find(runs_folder, resume)
    loaded = load_config(run.config_path, overrides, os.environ)
    check_shares(loaded.config, place)
    return run, loaded


def _log_to(path: Path, level: str) -> None:
    """The one place where logging is set up: everything to the run's log, warnings also to the terminal."""
    try:
        file = logging.FileHandler(path, encoding="utf-8")
    except OSError as error:
        raise RunDirectoryError(
            f"cannot write the log {str(path)!r}: {error.strerror}; {next_step_after(error)}"
        ) from error
    file.setFormatter(logging.Formatter(LOG_FORMAT))
    terminal = logging.StreamHandler()
    terminal.setLevel(logging.WARNING)
    logging.basicConfig(level=level.upper(), handlers=[file, terminal], force=True)


def _log_as_rank(rank: int) -> None:
    """Warnings to the terminal, with the rank's number; the run's log is the first rank's."""
    logging.basicConfig(level=logging.WARNING, format=RANK_FORMAT.format(rank), force=True)


def _train(
    run: RunDirectory, config: AppConfig, ranks: Ranks | None = None, *, resume: bool
) -> TrainingReport:
    from rich.progress import Progress

    from keisei.core.ranks import ALONE
    from keisei.training.stop_signal import StopSignal
    from keisei.training.trainer import Trainer

    bar = Progress(console=Console(stderr=True), transient=True)
    ranks = ranks or ALONE
    with StopSignal(is_quiet=not ranks.is_first) as should_stop, ExitStack() as stack:
        tasks: dict[str, int] = {}

        def on_grading(opponent: str, score: Score, total: int) -> None:
            if not tasks:
                # Not before: two live displays on one terminal write over each other.
                stack.enter_context(bar)
            if opponent not in tasks:
                tasks[opponent] = bar.add_task(f"playing against {opponent}", total=total)
            bar.update(tasks[opponent], completed=score.games)  # type: ignore[arg-type]  # rich's TaskID is an int

        trainer = Trainer(config, run, should_stop=should_stop, on_grading=on_grading, ranks=ranks)
        return trainer.train(resume=resume)


def _print_report(report: TrainingReport) -> None:
    console = Console(highlight=False, markup=False, soft_wrap=True)
    speed = report.plies / report.seconds if report.seconds else 0.0
    console.print(f"Training ended: {report.reason}.")
    console.print(
        f"{report.update} updates, {report.plies:,} plies, {report.games:,} games in {report.seconds:.0f} s "
        f"({speed:,.0f} plies/s over all)."
    )
    for opponent, score in report.scores.items():
        console.print(f"Score against {opponent}: {score}")
    if report.rating is not None:
        console.print(f"Rating: {report.rating} Elo, where random has 0.")
    console.print(f"Everything is in {report.run}")
    console.print("Try next:")
    for command in (f"keisei inspect {report.run}", f"keisei train --resume {report.run}", "keisei runs"):
        console.print(f"  {command}")
