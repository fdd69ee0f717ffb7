"""Where the network runs."""

from __future__ import annotations

import torch

from keisei.errors import ConfigError


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
