"""Kill -9 a training command at random moments, resume it each time, and report what every resume found.

One process imports torch and forks each victim: an import per victim would take a minute.
"""

import json
import os
import random
import re
import select
import signal
import sys
import time
from pathlib import Path

import torch
import torch._dynamo  # the first optimiser of a process imports it, which takes a second

import keisei.commands.training
import keisei.training.trainer  # noqa: F401 imported once, for all victims
from keisei.cli import main
from keisei.core.checkpoint import CheckpointFolder
from keisei.record.journal_reader import JournalReader

RUNS, KILLS, OPTIONS = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
NAME = "victim"
RUN = RUNS / NAME
LINE = re.compile(rb"^update (\d+),", re.MULTILINE)
UPDATES_TO_WAIT = 2
#: Longer than a start or an update, so that a kill may fall anywhere within them. On a fast machine the next
#: update ends the delay, or the victims would finish the run before all kills are done.
LONGEST_DELAY_SECONDS = 0.3


class Trainer:
    """A trainer in a process of its own, seen through its plain console lines."""

    def __init__(self) -> None:
        command = ["--resume", NAME] if (RUN / "run.json").exists() else ["--name", NAME]
        self._pipe, writing = os.pipe()
        self.shown: list[int] = []
        self.is_running = True
        self.pid = os.fork()
        if self.pid == 0:
            os.dup2(writing, 1)
            sys.argv = ["keisei", "train", "--runs", str(RUNS), *command, *OPTIONS]
            torch.set_num_threads(1)
            try:
                main()
            finally:
                sys.stdout.flush()
                os._exit(0)
        os.close(writing)

    def watch_until(self, deadline: float, update: int) -> None:
        """Reads lines until an update is shown or the time is over."""
        while self.is_running and update not in self.shown:
            if not select.select([self._pipe], [], [], max(deadline - time.monotonic(), 0))[0]:
                return
            data = os.read(self._pipe, 1 << 16)
            self.is_running = bool(data)
            self.shown += [int(number) for number in LINE.findall(data)]

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.watch_until(time.monotonic() + 60, -1)
        os.close(self._pipe)

    def wait(self) -> None:
        self.watch_until(time.monotonic() + 600, -1)
        os.waitpid(self.pid, 0)
        os.close(self._pipe)


def recorded() -> list[int]:
    if not (RUN / "journal.sqlite").exists():
        return []
    with JournalReader(RUN / "journal.sqlite") as journal:
        return [point.update for point in journal.series("loss")]


def saved() -> tuple[int | None, int]:
    """The newest good update, None where there is no checkpoint yet, and how many did not verify."""
    folder = CheckpointFolder(RUN / "checkpoints")
    if not folder.paths():
        return None, 0
    found = folder.latest_good()
    return found.checkpoint.manifest.update, len(found.skipped)


def kill_one(moments: random.Random) -> dict[str, object]:
    before = saved()[0] if RUN.exists() else None
    trainer = Trainer()
    wanted = before or 0
    if moments.random() < 0.75:
        wanted += moments.randint(1, UPDATES_TO_WAIT)
        trainer.watch_until(time.monotonic() + 60, wanted)
    trainer.watch_until(time.monotonic() + moments.uniform(0, LONGEST_DELAY_SECONDS), wanted + 1)
    was_running = trainer.is_running
    trainer.kill()
    newest, torn = saved()
    updates = recorded()
    return {
        "was_running": was_running,
        "resumed": not trainer.shown or min(trainer.shown) >= (before or 0),
        "lost": max([0, *updates, *trainer.shown]) - (newest or 0),
        "torn": torn,
        "journal_is_whole": updates == list(range(1, len(updates) + 1)),
        "newest": newest,
    }


def report() -> None:
    moments = random.Random(7)
    kills = [kill_one(moments) for _ in range(KILLS)]
    last = Trainer()
    last.wait()
    print(json.dumps({"kills": kills, "updates": recorded(), "saved": saved()[0]}))


report()
