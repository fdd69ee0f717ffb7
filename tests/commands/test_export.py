"""`keisei export`."""

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import call_keisei
from small_checkpoints import make_run, save_checkpoint

from keisei.evaluation.checkpoint_network import load_network

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def onnxruntime() -> Any:
    return pytest.importorskip("onnxruntime", reason="pip install 'keisei[onnx]'")


def test_a_run_is_exported_with_what_it_is(
    capsys: Capture, runs: Path, tmp_path: Path, onnxruntime: Any
) -> None:
    make_run(runs, "mine", updates=2)
    path = tmp_path / "mine.onnx"
    called = call_keisei(capsys, "export", "mine", "--runs", runs, "--onnx", path)
    assert called.code == 0
    assert "update 2" in called.out
    assert "1,000 positions" in called.out
    metadata = onnxruntime.InferenceSession(path).get_modelmeta().custom_metadata_map
    assert metadata["producer"].startswith("Keisei ")
    assert json.loads(metadata["plies"]) == 200
    assert json.loads(metadata["architecture"])["architecture"] == "resnet"


def test_a_damaged_checkpoint_is_not_exported(capsys: Capture, tmp_path: Path) -> None:
    checkpoint = save_checkpoint(tmp_path)
    (checkpoint / "model.safetensors").write_bytes(b"")
    called = call_keisei(capsys, "export", checkpoint, "--onnx", tmp_path / "x.onnx")
    assert called.code == 1
    assert "model.safetensors is damaged" in called.err
    assert not (tmp_path / "x.onnx").exists()


def test_nothing_to_write_is_an_error(capsys: Capture, runs: Path) -> None:
    make_run(runs, "mine")
    called = call_keisei(capsys, "export", "mine", "--runs", runs)
    called.assert_refused(2, "--onnx FILE", "--network FOLDER")


# ---- a network to give away


def test_a_network_is_written_with_its_card_and_plays_by_its_folder(
    capsys: Capture, runs: Path, tmp_path: Path
) -> None:
    make_run(runs, "mine", updates=2)
    folder = tmp_path / "given"
    where = ("--runs", runs, "--network", folder, "--games", 0)
    called = call_keisei(capsys, "export", "mine", *where, "--fact", "commit=8fe2b3a", "--fact", "minutes=3")
    assert called.code == 0, called.err
    assert "update 2" in called.out
    assert load_network(folder)[1].plies == 200
    card = (folder / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert "keisei play given" in card
    assert "| commit | 8fe2b3a |\n| minutes | 3 |" in card
    assert json.loads((folder / "state.json").read_text())["facts"]["commit"] == "8fe2b3a"
    assert "verified" in call_keisei(capsys, "inspect", folder).out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--games", 3), ("even", "3")),
        (("--games", -2), ("--games",)),
        (("--fact", "commit"), ("NAME=VALUE", "'commit'")),
        (("--opponents", "greedy,nobody"), ("unknown player 'nobody'",)),
    ],
)
def test_a_wrong_wish_is_refused_and_nothing_written(
    capsys: Capture,
    runs: Path,
    tmp_path: Path,
    options: tuple[object, ...],
    words: tuple[str, ...],
) -> None:
    make_run(runs, "mine")
    called = call_keisei(capsys, "export", "mine", "--runs", runs, "--network", tmp_path / "x", *options)
    assert called.code == 2
    assert all(word in called.out + called.err for word in words)
    assert not (tmp_path / "x").exists()
