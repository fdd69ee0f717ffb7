"""`keisei export`."""

import json
from pathlib import Path

import pytest
from command_line import call_keisei
from small_checkpoints import make_run, save_checkpoint

Capture = pytest.CaptureFixture[str]
onnxruntime = pytest.importorskip("onnxruntime", reason="pip install 'keisei[onnx]'")


def test_a_run_is_exported_with_what_it_is(capsys: Capture, runs: Path, tmp_path: Path) -> None:
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
