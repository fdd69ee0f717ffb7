"""Exported networks compute what PyTorch computes, or are not written."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from network_samples import ACTION_COUNTS, ARCHITECTURES, network
from torch import Tensor

from keisei.core.networks import ActorCritic, NetworkOutput
from keisei.core.onnx_export import (
    INPUT,
    OUTPUTS,
    PACKAGES,
    TOLERANCE,
    export_onnx,
    largest_difference,
    onnx_bytes,
    random_positions,
)
from keisei.errors import ExportError, PackageMissingError
from keisei.shogi.positions import unpack_planes

onnxruntime = pytest.importorskip("onnxruntime", reason="pip install 'keisei[onnx]'")
pytest.importorskip("onnxscript", reason="pip install 'keisei[onnx]'")


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("actions", ACTION_COUNTS)
def test_all_networks_are_exported_within_the_tolerance(
    tmp_path: Path, architecture: str, actions: int
) -> None:
    path = tmp_path / "network.onnx"
    ours = network(architecture, actions, seed=3)
    assert export_onnx(ours, path, {}) <= TOLERANCE
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for count in (1, 5):  # the batch is free
        planes = unpack_planes(random_positions(count))
        logits, values = session.run(list(OUTPUTS), {INPUT: planes})
        with torch.no_grad():
            expected = ours(torch.from_numpy(planes), with_auxiliary=False)
        np.testing.assert_allclose(logits, expected.policy_logits.numpy(), atol=TOLERANCE)
        np.testing.assert_allclose(values, expected.value_logits.numpy(), atol=TOLERANCE)


def test_metadata_travels_with_the_network(tmp_path: Path) -> None:
    path = tmp_path / "network.onnx"
    export_onnx(network("cnn"), path, {"producer": "Keisei", "update": 7, "architecture": {"blocks": 2}})
    found = onnxruntime.InferenceSession(path).get_modelmeta().custom_metadata_map
    assert (found["producer"], json.loads(found["update"])) == ("Keisei", 7)
    assert json.loads(found["architecture"]) == {"blocks": 2}


def test_another_network_is_told_apart() -> None:
    model = onnx_bytes(network("cnn", seed=1), {})
    records = random_positions(20)
    assert largest_difference(network("cnn", seed=1), model, records) <= TOLERANCE
    assert largest_difference(network("cnn", seed=2), model, records) > TOLERANCE


class Fickle(ActorCritic):
    """Computes something else once it was exported."""

    def __init__(self) -> None:
        super().__init__(2187)
        self.inner = network("cnn")

    def forward(self, planes: Tensor, with_auxiliary: bool = True) -> NetworkOutput:
        output: NetworkOutput = self.inner(planes, with_auxiliary=False)
        bias = 0.0 if torch.compiler.is_compiling() else 1.0
        return NetworkOutput(output.policy_logits + bias, output.value_logits, {})


def test_an_export_that_differs_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "network.onnx"
    with pytest.raises(
        ExportError, match=r"differs from PyTorch by up to 1, more than 0\.0001; nothing was written"
    ):
        export_onnx(Fickle(), path, {})
    assert not path.exists()


class Inexpressible(ActorCritic):
    """Needs Python while it computes."""

    def forward(self, planes: Tensor, with_auxiliary: bool = True) -> NetworkOutput:
        scale = float(np.sin(planes.sum().item()))
        return NetworkOutput(
            planes.new_full((len(planes), 2187), scale), planes.new_zeros(len(planes), 3), {}
        )


def test_a_network_that_onnx_cannot_express_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="Inexpressible cannot be expressed in ONNX"):
        export_onnx(Inexpressible(2187), tmp_path / "network.onnx", {})


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"cannot write .*nowhere.*No such file"):
        export_onnx(network("cnn"), tmp_path / "nowhere" / "network.onnx", {})


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keisei.core.onnx_export.PACKAGES", (*PACKAGES, "no_such_package"))
    with pytest.raises(PackageMissingError, match=r"no_such_package; pip install 'keisei\[onnx\]'"):
        export_onnx(network("cnn"), tmp_path / "network.onnx", {})


def test_the_compared_positions_differ_and_do_not_change() -> None:
    first, again = random_positions(200), random_positions(200)
    assert np.array_equal(first, again)
    assert len(np.unique(first, axis=0)) > 190
