"""Experience from worker processes that lose nothing: slots in shared memory, versions, restarts.

The names below are loaded when they are first asked for: a worker process tells the trainer when PyTorch cannot be
imported, so it must come that far without it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keisei.training.parallel.communication import WorkerCommunicator
    from keisei.training.parallel.model_sync import ModelSynchronizer
    from keisei.training.parallel.parallel_manager import ParallelManager
    from keisei.training.parallel.self_play_worker import SelfPlayWorker

__all__ = ["ModelSynchronizer", "ParallelManager", "SelfPlayWorker", "WorkerCommunicator"]

_HOMES = {
    "ModelSynchronizer": "model_sync",
    "ParallelManager": "parallel_manager",
    "SelfPlayWorker": "self_play_worker",
    "WorkerCommunicator": "communication",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
