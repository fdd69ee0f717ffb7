"""Save a small, a large and a small checkpoint where the large one does not fit, and say what is there."""

import resource
import sys
from pathlib import Path

import torch

from keisei.core.checkpoint import CheckpointStore
from keisei.errors import CheckpointError

store = CheckpointStore(Path(sys.argv[1]))


def save(update: int, size: int) -> None:
    weights = {"w": torch.full((size,), float(update))}
    store.save(update, plies=0, architecture={}, tensors={"model": weights}, state={})


save(1, 100)
if len(sys.argv) > 2:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    save(2, 1_000_000)
except CheckpointError as error:
    print(error)
found = store.latest_good()
names = sorted(path.name for path in store.folder.iterdir())
print(found.checkpoint.manifest.update, len(found.skipped), names)
save(3, 100)
print(store.latest_good().checkpoint.manifest.update)
