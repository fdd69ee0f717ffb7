"""The trials of a sweep: each a real `keisei train` in a folder of its own, led by Optuna."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import optuna
from optuna.trial import FrozenTrial, Trial, TrialState

from keisei.commands.child_process import ChildProcess
from keisei.commands.sweep_plan import SweepPlan, as_text
from keisei.errors import ConfigError, JournalError, SweepError
from keisei.record.journal_reader import JournalReader
from keisei.record.strength import rated_updates

STUDY_FILE: Final = "study.sqlite"
STUDY_NAME: Final = "sweep"
#: What a trial that failed says about it, in Optuna's attributes.
PROBLEM: Final = "problem"
LOOK_SECONDS: Final = 0.2
#: Failures in a row after which the plan itself is to blame.
MAX_FAILURES: Final = 3
#: Trials that are never cut short, so that there is something to compare with.
STARTUP_TRIALS: Final = 5


@dataclass(frozen=True)
class Measurement:
    """What counts of a run so far."""

    update: int
    value: float


def open_study(folder: Path, plan: SweepPlan) -> optuna.Study:
    """The study in a sweep's folder, with all trials so far."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage = f"sqlite:///{(folder / STUDY_FILE).resolve()}"
    study = optuna.create_study(
        storage=storage, study_name=STUDY_NAME, direction="maximize", load_if_exists=True
    )
    # With the same seed again, a sweep that goes on would repeat its first trials.
    study.sampler = optuna.samplers.TPESampler(seed=(plan.seed + len(study.trials)) % 2**32)
    study.pruner = (
        optuna.pruners.MedianPruner(n_startup_trials=STARTUP_TRIALS)
        if plan.prune
        else optuna.pruners.NopPruner()
    )
    return study


class Sweep:
    """Runs trials one after the other until there are enough, or somebody stops it."""

    def __init__(
        self, plan: SweepPlan, folder: Path, tell: Callable[[str], None], should_stop: Callable[[], bool]
    ) -> None:
        self._plan = plan
        self._folder = folder
        self._tell = tell
        self._should_stop = should_stop
        self.study = open_study(folder, plan)

    def run(self) -> None:
        """Go on with a trial that was interrupted, then try new ones."""
        for frozen in self.study.get_trials(states=(TrialState.RUNNING,)):
            if not self._should_stop():
                self._try(Trial(self.study, frozen._trial_id))
        while not self._should_stop() and len(self._ended()) < self._plan.trials:
            self._try(self.study.ask(self._plan.distributions()))
            self._give_up_on_a_bad_plan()

    def _ended(self) -> list[FrozenTrial]:
        return [trial for trial in self.study.trials if trial.state.is_finished()]

    def _give_up_on_a_bad_plan(self) -> None:
        last = self._ended()[-MAX_FAILURES:]
        if len(last) == MAX_FAILURES and all(trial.state is TrialState.FAIL for trial in last):
            raise SweepError(
                f"{MAX_FAILURES} trials in a row failed, the last of them: {last[-1].user_attrs.get(PROBLEM)}; "
                f"mend the plan and begin another sweep (--folder)"
            )

    def _try(self, trial: Trial) -> None:
        words = ", ".join(f"{key} {_shown(value)}" for key, value in trial.params.items())
        self._tell(f"trial {trial.number}: {words}")
        try:
            self._plan.app_config(trial.params)
        except ConfigError as error:
            self._fail(trial, str(error))
            return
        began = time.monotonic()
        name = f"trial-{trial.number:04d}"
        log = self._folder / "logs" / f"{name}.log"
        with ChildProcess(log, *self._arguments(trial, name)) as process:
            is_pruned = self._accompany(trial, process, self._folder / "runs" / name)
        if self._should_stop() and not is_pruned:
            self._tell(f"trial {trial.number}: interrupted; the same command goes on with it")
            return
        if is_pruned:
            self.study.tell(trial, state=TrialState.PRUNED)
            self._tell(f"trial {trial.number}: cut short, others were better by then")
        elif process.exit_code:
            self._fail(trial, f"{process.last_words()} (all of it is in {log})")
        else:
            self._judge(trial, self._folder / "runs" / name, time.monotonic() - began)

    def _arguments(self, trial: Trial, name: str) -> list[str]:
        runs = self._folder / "runs"
        if (runs / name / "run.json").is_file():
            return ["train", "--resume", str(runs / name)]
        settings = {**self._plan.settings, **trial.params, "record.console": "off"}
        config = [] if self._plan.config is None else ["--config", str(self._plan.config)]
        options = [f"--{key}={as_text(value)}" for key, value in settings.items()]
        return ["train", "--runs", str(runs), "--name", name, *config, *options]

    def _accompany(self, trial: Trial, process: ChildProcess, run: Path) -> bool:
        """Until the run has ended; True if it was cut short because others were better."""
        seen = -1
        while process.exit_code is None:
            if self._should_stop():
                process.end()
                return False
            measured = self._measure(run) if self._plan.prune else None
            if measured is not None and measured.update > seen:
                seen = measured.update
                trial.report(measured.value, seen)
                if trial.should_prune():
                    process.end()
                    return True
            time.sleep(LOOK_SECONDS)
        return False

    def _judge(self, trial: Trial, run: Path, seconds: float) -> None:
        measured = self._measure(run)
        if measured is None:
            self._fail(trial, f"the run has no {self._plan.objective} to judge it by; see {run / 'log.txt'}")
            return
        self.study.tell(trial, measured.value)
        self._tell(
            f"trial {trial.number}: {self._plan.objective} {_shown(measured.value)} after {seconds:.0f} s"
        )

    def _fail(self, trial: Trial, problem: str) -> None:
        trial.set_user_attr(PROBLEM, problem)
        self.study.tell(trial, state=TrialState.FAIL)
        self._tell(f"trial {trial.number}: failed: {problem}")

    def _measure(self, run: Path) -> Measurement | None:
        """The newest measurement that a run has recorded, None when there is none."""
        journal_path = run / "journal.sqlite"
        if not journal_path.is_file():
            return None
        try:
            with JournalReader(journal_path) as journal:
                return newest_measurement(journal, self._plan)
        except JournalError:  # the trainer is just making the file
            return None


def newest_measurement(journal: JournalReader, plan: SweepPlan) -> Measurement | None:
    """What the plan's objective says of a run."""
    if plan.objective == "rating_low":
        rated = rated_updates(journal.ratings())
        return Measurement(rated[-1].update, rated[-1].rating.low) if rated else None
    opponent = plan.judged_against()
    matches = [entry for entry in journal.evaluations() if entry.content.opponent == opponent]
    if not matches:
        return None
    result = matches[-1].content
    return Measurement(matches[-1].update, result.low if plan.objective == "score_low" else result.score)


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else as_text(value)
