"""Where the network runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

from keisei.errors import ConfigError, DeviceMemoryError

if TYPE_CHECKING:
    from keisei.config_schema import AppConfig

#: What PyTorch raises when a device has no room; a name here for rooms that do not import torch.
OutOfMemory = torch.OutOfMemoryError
#: What is said below PyTorch, by the driver (also of memory that it pins), cuBLAS, cuDNN: plain RuntimeErrors up here.
FULL_DEVICE_WORDS = ("out of memory", "_ALLOC_FAILED", "_ALLOCATION_FAILED")
#: In advice, where a run is not called by a name of its own.
ANY_RUN = "RUN"


def choose_device(name: str, precision: str = "fp32") -> torch.device:
    """The device that a setting names; ``auto`` is the first GPU, or the CPU where there is none."""
    if name == "auto":
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    else:
        device = torch.device(name)
        if device.type == "cuda":
            _require_gpu(name, device.index or 0)
    if precision == "fp16" and device.type == "cpu":
        raise ConfigError(
            f"training.precision is {precision!r}, which needs a GPU, but training.device {name!r} is the CPU here; "
            "set training.precision to fp32 or bf16"
        )
    return device


def _require_gpu(name: str, index: int) -> None:
    found = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if index >= found:
        raise ConfigError(
            f"training.device is {name!r}, but PyTorch {torch.__version__} sees {found} GPUs; set training.device to "
            "auto or cpu, or install a PyTorch with CUDA and its driver (`keisei doctor` tells more)"
        )


def lacks_memory(error: BaseException | None) -> bool:
    """Whether an error says that a device, or memory pinned for one, has no room, or came of one that says so."""
    return _full_device(error) is not None


def _full_device(error: BaseException | None) -> RuntimeError | None:
    """The error that says it. A capture that is broken off by it ends with an error of its own."""
    while isinstance(error, RuntimeError):
        if isinstance(error, OutOfMemory) or any(words in str(error) for words in FULL_DEVICE_WORDS):
            return error
        error = error.__context__
    return None


@contextmanager
def full_device_named() -> Iterator[None]:
    """Turns whatever `lacks_memory` into `OutOfMemory`, which can be caught by its class."""
    try:
        yield
    except RuntimeError as error:
        full = _full_device(error)
        if full is None or isinstance(error, OutOfMemory):
            raise
        raise OutOfMemory(str(full)) from error


@contextmanager
def memory_explained(config: AppConfig) -> Iterator[None]:
    """Turns a full device into an error that names the settings to lower."""
    try:
        yield
    except RuntimeError as error:
        full = _full_device(error)
        if full is None:
            raise
        games, rows = config.env.num_games, config.training.minibatch_size
        reason = str(full).partition("\n")[0].partition(". ")[0]
        raise DeviceMemoryError(
            f"the network's device has no room for env.num_games {games} and training.minibatch_size {rows} "
            f"({reason}); lower one of them, to {max(1, games // 2)} or {max(1, rows // 2)} say, and go on with "
            f"`keisei train --resume {config.record.name or ANY_RUN}`"
        ) from error
