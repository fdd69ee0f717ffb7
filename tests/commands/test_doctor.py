"""`keisei doctor`: what this machine has, what it lacks, and what to do."""

import builtins
import importlib.metadata
import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
import torch
from command_line import call_keisei

from keisei.shogi import ShogiGame

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def findings(capsys: Capture) -> dict[str, str]:
    """The lines of the report by their subject, advice appended."""
    called = call_keisei(capsys, "doctor")
    assert called.code == 0, called.err
    found: dict[str, str] = {}
    subject = ""
    for line in called.out.splitlines():
        if line.startswith(("ok  ", "FIX ")):
            subject = line[4:19].strip()
            found[subject] = line
        elif line.startswith("    ->"):
            found[subject] += line
    found["last"] = called.out.splitlines()[-1]
    return found


def test_a_machine_that_can_run_the_tests_is_ready(capsys: Capture) -> None:
    found = findings(capsys)
    for subject in ("keisei", "cores", "memory", "disk", "engine", "torch", "GPU", "runs folder"):
        assert found[subject].startswith("ok  "), found[subject]
    assert "perft(3) = 25470" in found["engine"]
    assert torch.__version__ in found["torch"]
    assert found["last"] == "everything is ready"


def test_little_memory_and_disk_are_told_with_what_to_do(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=2**29))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=2**20))
    found = findings(capsys)
    assert "lower env.num_games" in found["memory"]
    assert "--runs DIR" in found["disk"]
    assert found["last"] == "2 things to look at"


def test_a_folder_without_permission_is_told(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "use --runs DIR with a folder of your own" in findings(capsys)["runs folder"]


def test_a_broken_engine_is_told(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ShogiGame, "perft", lambda *_: 25_469)
    assert "rebuild" in findings(capsys)["engine"]


def test_a_missing_torch_is_told(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    real_import = builtins.__import__

    def without_torch(name: str, *arguments: Any, **named: Any) -> Any:
        if name == "torch":
            raise ImportError("No module named 'torch'")
        return real_import(name, *arguments, **named)

    monkeypatch.delitem(sys.modules, "torch")
    monkeypatch.setattr(builtins, "__import__", without_torch)
    assert "install PyTorch" in findings(capsys)["torch"]


def test_a_gpu_is_named_with_its_memory(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Accelerator 3000")
    properties = SimpleNamespace(total_memory=80 * 2**30)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: properties)
    assert "Accelerator 3000, 80 GiB" in findings(capsys)["GPU"]


def test_a_gpu_build_without_a_gpu_is_told(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.version, "cuda", "12.8")
    assert "check the driver" in findings(capsys)["GPU"]


def test_an_optional_package_that_is_missing_is_no_problem(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_version = importlib.metadata.version

    def version(name: str) -> str:
        if name == "cshogi":
            raise importlib.metadata.PackageNotFoundError(name)
        return real_version(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    found = findings(capsys)
    assert "not installed" in found["cshogi"]
    assert "pip install cshogi" in found["cshogi"]
    assert found["last"] == "everything is ready"


def test_a_narrow_python_is_told(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "maxsize", 2**31 - 1)
    assert "64-bit" in findings(capsys)["python"]
