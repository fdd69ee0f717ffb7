"""Weights & Biases: online when its server answers, else into local files that `wandb sync` sends later."""

from __future__ import annotations

import os
import secrets
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeVar

from keisei.durable_files import replace_file
from keisei.record.trackers.messages import Artifact, Figures, Rewind, Start
from keisei.record.trackers.tracker import Report

if TYPE_CHECKING:
    import wandb

#: Holds the id under which W&B knows the run, so that it goes on there when the run goes on here.
ID_FILE: Final = "wandb-id.txt"
ID_BYTES: Final = 4
PROBE_SECONDS: Final = 5.0
INIT_SECONDS: Final = 30.0
ARTIFACT_SECONDS: Final = 120
#: Pauses between tries to send an artifact.
RETRY_SECONDS: Final = (1.0, 5.0, 25.0)
ONLINE: Final = "online"

Answer = TypeVar("Answer")


class WandbTracker:
    """One run at W&B."""

    def __init__(self, start: Start, report: Report) -> None:
        # What W&B reports about itself goes to a third party; nobody asked for that.
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
        import wandb

        self._wandb = wandb
        self._start = start
        self._report = report
        self._run = self._begin()
        # Updates, not W&B's own count of rows: after a resume an update may come twice.
        self._run.define_metric("update")
        self._run.define_metric("*", step_metric="update")

    def log(self, figures: Figures) -> None:
        """One row of W&B's history."""
        self._run.log({"update": figures.update, **figures.values})

    def keep(self, artifact: Artifact) -> None:
        """A version of the run's checkpoint artifact. Where the server answers, wait until it has it."""
        retried(lambda: self._send(artifact), RETRY_SECONDS, (self._wandb.Error, TimeoutError))

    def rewind(self, message: Rewind) -> None:
        """Nothing: W&B keeps both versions of an update."""

    def finish(self, *, failed: bool) -> None:
        """Send what is left; a run that failed is marked so."""
        self._run.finish(exit_code=int(failed))

    def _begin(self) -> wandb.Run:
        mode = self._start.wandb.mode
        if mode == "auto" and os.environ.get("WANDB_MODE", ONLINE) == ONLINE:
            mode = ONLINE
        if mode != ONLINE:
            return self._init(None if mode == "auto" else mode)
        address = self._wandb.setup().settings.base_url
        problem = unreachable(address)
        if problem is None:
            try:
                return self._init(ONLINE)
            except self._wandb.Error as error:
                problem = " ".join(str(error).split())
                self._wandb.teardown()  # else the id counts as in use
        run = self._init("offline")
        self._report(
            f"W&B cannot be used online ({problem}); the run is kept in {run.settings.sync_dir}: "
            f"send it later with `wandb sync {run.settings.sync_dir}`"
        )
        return run

    def _init(self, mode: Literal["online", "offline"] | None) -> wandb.Run:
        start = self._start
        return self._wandb.init(
            project=start.wandb.project,
            name=start.name,
            id=run_id(Path(start.folder)),
            resume="allow" if mode == ONLINE else None,
            dir=start.folder,
            config=dict(start.config),
            mode=mode,
            settings=self._wandb.Settings(
                console="off", silent=True, disable_git=True, save_code=False, init_timeout=INIT_SECONDS
            ),
        )

    def _send(self, checkpoint: Artifact) -> None:
        artifact = self._wandb.Artifact(
            self._start.name, type="checkpoint", metadata={"update": checkpoint.update}
        )
        artifact.add_dir(checkpoint.folder)
        logged = self._run.log_artifact(artifact, aliases=["latest", f"update-{checkpoint.update}"])
        if not self._run.offline:
            logged.wait(ARTIFACT_SECONDS)


def run_id(folder: Path) -> str:
    """The run's id at W&B: made up once, then read from the run's folder."""
    path = folder / ID_FILE
    try:
        return path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        made_up = secrets.token_hex(ID_BYTES)
        replace_file(path, f"{made_up}\n".encode("ascii"))
        return made_up


def unreachable(address: str, timeout_seconds: float = PROBE_SECONDS) -> str | None:
    """Why the server at ``address`` cannot be reached, None when it answers, whatever the answer."""
    try:
        urllib.request.urlopen(address, timeout=timeout_seconds).close()
    except urllib.error.HTTPError as answer:
        answer.close()
    except (OSError, ValueError, HTTPException) as error:
        return f"{address} does not answer: {error}"
    return None


def retried(
    action: Callable[[], Answer],
    pauses_seconds: tuple[float, ...],
    expected: tuple[type[Exception], ...],
    sleep: Callable[[float], None] = time.sleep,
) -> Answer:
    """What ``action`` returns; after an expected error it is tried again after each pause, then the error is raised."""
    for pause in pauses_seconds:
        try:
            return action()
        except expected:
            sleep(pause)
    return action()
