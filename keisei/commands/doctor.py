"""`keisei doctor`: is this machine ready, and if not, what to do."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from keisei import __version__
from keisei.config_schema import RecordConfig

GIBIBYTE = 2**30
LEAST_MEMORY_GIB = 2
LEAST_DISK_GIB = 1
SIGNATURE_DEPTH = 3
SIGNATURE = 25_470
OPTIONAL = {
    "pettingzoo": "the PettingZoo environment: pip install 'keisei[envs]'",
    "gymnasium": "the Gymnasium environment: pip install 'keisei[envs]'",
    "nicegui": "the web page: pip install 'keisei[web]'",
    "tensorboard": "the tracker of that name: pip install 'keisei[tensorboard]'",
    "wandb": "the tracker of that name: pip install 'keisei[wandb]'",
    "optuna": "`keisei sweep`: pip install 'keisei[sweep]'",
    "onnxruntime": "`keisei export --onnx`: pip install 'keisei[onnx]'",
    "cshogi": "a second oracle for `keisei verify-engine`: pip install cshogi",
}
PROGRAMS = {"fairy-stockfish": "an engine to measure against; on Debian: apt-get install fairy-stockfish"}


class Finding(NamedTuple):
    """One line of the report; advice is empty when all is well."""

    subject: str
    state: str
    advice: str = ""


def doctor() -> None:
    """Check cores, memory, disk, engine, PyTorch, GPU and optional packages; say what to do about each problem."""
    console = Console(highlight=False, markup=False, soft_wrap=True)
    problems = 0
    for finding in _findings():
        mark = "ok  " if not finding.advice else "FIX "
        console.print(f"{mark}{finding.subject:<15} {finding.state}")
        if finding.advice:
            problems += 1
            console.print(f"    -> {finding.advice}")
    console.print("everything is ready" if not problems else f"{problems} things to look at")


def _findings() -> Iterator[Finding]:
    checks: tuple[Callable[[], Iterator[Finding]], ...] = (_machine, _storage, _engine, _torch, _packages)
    for check in checks:
        yield from check()


def _machine() -> Iterator[Finding]:
    import psutil

    yield Finding("keisei", f"{__version__}, Python {platform.python_version()}, {platform.platform()}")
    yield Finding("cores", str(os.cpu_count() or 1))
    free = psutil.virtual_memory().available / GIBIBYTE
    advice = "close other programs or lower env.num_games" if free < LEAST_MEMORY_GIB else ""
    yield Finding("memory", f"{free:.1f} GiB free", advice)


def _storage() -> Iterator[Finding]:
    folder = RecordConfig().runs_folder
    place = next(path for path in (folder, Path.cwd()) if path.exists())
    free = shutil.disk_usage(place).free / GIBIBYTE
    advice = "free some space, or use --runs DIR on another disk" if free < LEAST_DISK_GIB else ""
    yield Finding("disk", f"{free:.1f} GiB free for {folder}", advice)
    writable = os.access(place, os.W_OK)
    yield Finding(
        "runs folder",
        "writable" if writable else f"{place} is not writable",
        "" if writable else "use --runs DIR with a folder of your own",
    )


def _engine() -> Iterator[Finding]:
    from keisei.shogi import ShogiGame

    nodes = ShogiGame().perft(SIGNATURE_DEPTH)
    advice = (
        ""
        if nodes == SIGNATURE
        else "the native engine is broken: rebuild with `pip install --force-reinstall .`"
    )
    yield Finding("engine", f"perft({SIGNATURE_DEPTH}) = {nodes}", advice)


def _torch() -> Iterator[Finding]:
    try:
        import torch
    except ImportError as error:
        yield Finding("torch", str(error), "install PyTorch 2.4 or later: https://pytorch.org/get-started")
        return
    yield Finding("torch", f"{torch.__version__}, {torch.get_num_threads()} threads")
    if torch.cuda.is_available():
        name = torch.cuda.get_device_name()
        memory = torch.cuda.get_device_properties(0).total_memory / GIBIBYTE
        yield Finding("GPU", f"{name}, {memory:.0f} GiB")
    elif torch.version.cuda is not None:
        yield Finding(
            "GPU", "none found", f"PyTorch was built for CUDA {torch.version.cuda}: check the driver"
        )
    else:
        yield Finding("GPU", "none used: this PyTorch is for the CPU")


def _packages() -> Iterator[Finding]:
    from keisei.record.machine import find_program

    for name, use in OPTIONAL.items():
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            yield Finding(name, f"not installed; for {use}")
        else:
            yield Finding(name, version)
    for name, use in PROGRAMS.items():
        yield Finding(name, find_program(name) or f"not installed; {use}")
    if sys.maxsize < 2**32:
        yield Finding("python", "32 bits", "use a 64-bit Python")
