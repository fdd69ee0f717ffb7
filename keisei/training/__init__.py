"""The run: what is built for it, and the loop that drives it.

The names below are loaded when they are first asked for, since a worker process must come into this package without
PyTorch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keisei.training.trainer import Trainer
    from keisei.training.training_loop_manager import TrainingLoopManager

__all__ = ["Trainer", "TrainingLoopManager"]

_HOMES = {"Trainer": "trainer", "TrainingLoopManager": "training_loop_manager"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
