"""Kill saving processes at random moments and report what the next trainer would find.

One process imports torch and forks each victim: an import per victim would take a minute.
"""

import json
import os
import random
import select
import signal
import struct
import sys
import time
from pathlib import Path
from typing import NoReturn

import torch

from keisei.core.checkpoint import CheckpointFolder, CheckpointStore

FOLDER, KILLS = Path(sys.argv[1]), int(sys.argv[2])
WORD = struct.Struct("q")


def save_until_killed(acknowledge: int, update: int) -> NoReturn:
    store = CheckpointStore(FOLDER, keep_last=3)
    while True:
        update += 1
        values = torch.full((200_000,), float(update))
        tensors = {"model": {"w": values}, "optimizer": {"m": values}}
        store.save(update, plies=update, architecture={}, tensors=tensors, state={"value": update})
        os.write(acknowledge, WORD.pack(update))


def acknowledged_until(pipe: int, deadline: float) -> int:
    newest = 0
    while select.select([pipe], [], [], max(deadline - time.monotonic(), 0))[0]:
        (newest,) = WORD.unpack(os.read(pipe, WORD.size))
    return newest


def kill_one(moments: random.Random, update: int) -> int:
    """Let a victim save from ``update`` on, kill it, and return the last update it finished."""
    reading, writing = os.pipe()
    began = time.monotonic()
    victim = os.fork()
    if victim == 0:
        save_until_killed(writing, update)
    os.close(writing)
    (acknowledged,) = WORD.unpack(os.read(reading, WORD.size))
    one_save = time.monotonic() - began
    deadline = time.monotonic() + moments.uniform(0, 3 * one_save)
    acknowledged = acknowledged_until(reading, deadline) or acknowledged
    os.kill(victim, signal.SIGKILL)
    os.waitpid(victim, 0)
    while data := os.read(reading, WORD.size):
        (acknowledged,) = WORD.unpack(data)
    os.close(reading)
    return int(acknowledged)


def main() -> None:
    torch.set_num_threads(1)
    moments, newest, report = random.Random(2), 0, []
    for _ in range(KILLS):
        acknowledged = kill_one(moments, newest)
        found = CheckpointFolder(FOLDER).latest_good()
        checkpoint = found.checkpoint
        newest = checkpoint.manifest.update
        values = torch.cat([checkpoint.model["w"], checkpoint.tensors["optimizer"]["m"]])
        report.append(
            {
                "lost": acknowledged - newest,
                "skipped": len(found.skipped),
                "is_whole": bool((values == newest).all()) and checkpoint.state == {"value": newest},
                "was_saving": any(path.name.startswith(".tmp-") for path in FOLDER.iterdir()),
            }
        )
    print(json.dumps(report))


main()
