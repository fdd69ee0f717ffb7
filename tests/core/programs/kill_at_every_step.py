"""Kill a saving process before its first file operation, its second, and so on, and report what is found.

Python's audit events tell the operations. The victims are forked: an import of torch each would take minutes.
"""

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import torch

from keisei.core.checkpoint import CheckpointStore

TEMPLATE, FOLDER = Path(sys.argv[1]) / "template", Path(sys.argv[1]) / "checkpoints"
OPERATIONS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.scandir", "shutil.rmtree"}


def save(store: CheckpointStore, update: int, value: int) -> None:
    tensors = {"model": {"w": torch.full((9,), float(value))}}
    store.save(update, plies=0, architecture={}, tensors=tensors, state={"value": value})


def killer(operations_allowed: int) -> Callable[[str, object], None]:
    seen = 0

    def hook(event: str, _arguments: object) -> None:
        nonlocal seen
        seen += event in OPERATIONS
        if event in OPERATIONS and seen > operations_allowed:
            os.kill(os.getpid(), signal.SIGKILL)

    return hook


def replace_add_and_prune() -> None:
    store = CheckpointStore(FOLDER, keep_last=2)
    save(store, 3, 33)
    save(store, 4, 4)
    store.mark_best(FOLDER / "update-00000004")
    save(store, 5, 5)


def victim_finishes(operations_allowed: int) -> bool:
    victim = os.fork()
    if victim == 0:
        sys.addaudithook(killer(operations_allowed))
        replace_add_and_prune()
        os._exit(0)
    return not os.WIFSIGNALED(os.waitpid(victim, 0)[1])


def main() -> None:
    torch.set_num_threads(1)
    store = CheckpointStore(TEMPLATE, keep_last=2)
    for update in (1, 2, 3):
        save(store, update, update)
    store.mark_best(TEMPLATE / "update-00000002")
    report, is_finished = [], False
    while not is_finished:
        shutil.rmtree(FOLDER, ignore_errors=True)
        shutil.copytree(TEMPLATE, FOLDER)
        is_finished = victim_finishes(len(report))
        found = CheckpointStore(FOLDER, keep_last=2).latest_good()
        left = [path.name for path in FOLDER.iterdir() if path.name.startswith(".")]
        report.append([found.checkpoint.state["value"], len(found.skipped), left])
    print(json.dumps(report))


main()
