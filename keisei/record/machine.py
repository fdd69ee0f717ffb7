"""The machine that Keisei runs on: versions and hardware as text, and where programs are installed."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
from pathlib import Path
from typing import Final

import psutil

from keisei import __version__

GIBIBYTE: Final = 2**30
PACKAGES: Final = ("torch", "numpy")
CPU_INFO: Final = Path("/proc/cpuinfo")
MODEL_NAME: Final = "model name"
#: Debian installs engines where root's PATH does not look.
EXTRA_PATH: Final = "/usr/games"


def machine_facts(device: str) -> dict[str, str]:
    """Facts by name; ``device`` is where the network learns."""
    return {
        "keisei": __version__,
        "python": platform.python_version(),
        **{name: _version(name) for name in PACKAGES},
        "system": platform.platform(),
        "processor": processor(),
        "cores": str(os.cpu_count() or 1),
        "memory": f"{psutil.virtual_memory().total / GIBIBYTE:.1f} GiB",
        "device": device,
    }


def find_program(name: str) -> str | None:
    """Where a program is installed, None if it is not."""
    return shutil.which(name) or shutil.which(name, path=EXTRA_PATH)


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def processor() -> str:
    """The name of the processor; Linux tells it in a file only."""
    try:
        lines = CPU_INFO.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith(MODEL_NAME)]
    return names[0] if names else platform.processor() or platform.machine()
