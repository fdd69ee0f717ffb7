"""One of two ranks of whole runs; writes how each of them ended here."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import torch
from tiny_runs import COLLAPSING, Listener, StopAfter, latest, new_run, tiny_config

from keisei.core.rank_place import RankPlace
from keisei.core.ranks import joined_ranks
from keisei.errors import RankLostError
from keisei.record.run_directory import RunDirectory
from keisei.training.callbacks import Callback
from keisei.training.events import RolledBack, TrainingEvent, UpdateFinished
from keisei.training.trainer import Trainer

RANK, FOLDER = int(sys.argv[1]), Path(sys.argv[2])
PATIENCE_SECONDS = 60.0


def train(
    meeting: str,
    run: RunDirectory,
    updates: int,
    *callbacks: Callback,
    stop_after: int = sys.maxsize,
    **changes: object,
) -> dict[str, Any]:
    """Trains with the other rank: how it ended, what was heard of it, and the weights at the end."""
    listener, stop = Listener(), StopAfter(stop_after)
    place = RankPlace(RANK, 2, RANK, 2)
    point = f"file://{FOLDER / meeting}"
    with joined_ranks(place, timeout_seconds=PATIENCE_SECONDS, meeting_point=point) as ranks:
        trainer = Trainer(
            tiny_config(updates, **changes),
            run,
            should_stop=stop,
            callbacks=[stop.listen, listener, *callbacks],
            ranks=ranks,
        )
        report = trainer.train(resume=bool(list(run.checkpoints_path.iterdir())))
    finished = listener.of(UpdateFinished)
    return {
        "reason": report.reason,
        "update": report.update,
        "plies": report.plies,
        "games": report.games,
        "updates": [event.update for event in finished],
        "learning_rates": [event.metrics["learning_rate"] for event in finished],
        "went_back": listener.updates_of(RolledBack),
        "weights": dict(latest(run).model),
    }


def lose_the_other(run: RunDirectory) -> dict[str, Any]:
    """The second rank dies at the end of its second update."""

    def die(event: TrainingEvent) -> None:
        if RANK == 1 and isinstance(event, UpdateFinished) and event.update == 2:
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        train("fourth", run, 50, die, training__checkpoint_interval_updates=0)
    except RankLostError as error:
        return {"error": str(error), "update": latest(run).manifest.update}
    return {}


def main() -> None:
    torch.set_num_threads(1)
    folder = FOLDER / str(RANK)
    kept = new_run(folder, "stopped")
    outcomes = {
        "collapsed": train(
            "first", new_run(folder, "collapsed"), 100, **COLLAPSING, training__guard__max_rollbacks=1
        ),
        "stopped": train("second", kept, 50, stop_after=2 if RANK == 1 else sys.maxsize),
        # The first rank goes on with its run; the other has nothing to go on with.
        "resumed": train("third", kept if RANK == 0 else new_run(folder, "resumed"), 5),
    }
    torch.save(outcomes, FOLDER / f"{RANK}.pt")
    outcomes["died"] = lose_the_other(new_run(folder, "died"))
    torch.save(outcomes, FOLDER / f"{RANK}.pt")


main()
