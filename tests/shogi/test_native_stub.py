"""The type stub of the native module is generated; it must describe the module that is built."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

STUB = Path(__file__).resolve().parents[2] / "keisei" / "shogi" / "_native.pyi"


def test_the_stub_is_up_to_date(tmp_path: Path) -> None:
    if importlib.util.find_spec("nanobind") is None:
        pytest.skip("nanobind is not installed; pip install nanobind")
    fresh = tmp_path / STUB.name
    command = [sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "keisei.shogi._native", "-o", str(fresh)]
    subprocess.run(command, check=True)
    assert fresh.read_text(encoding="utf-8") == STUB.read_text(encoding="utf-8"), "run `make docs`"
