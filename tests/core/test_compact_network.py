"""Networks in half precision: small, playing as before, and loaded like any checkpoint."""

from pathlib import Path

import numpy as np
import pytest
import torch
from network_samples import ARCHITECTURES, model_config
from small_checkpoints import save_checkpoint, small_network
from stand_in_networks import inference

from keisei.core import compact_network
from keisei.core.checkpoint_format import Manifest, verify_folder
from keisei.core.compact_network import MAX_BYTES, CompactNetwork
from keisei.core.model_factory import architecture_description, model_factory
from keisei.core.onnx_export import random_positions
from keisei.errors import ExportError
from keisei.evaluation.checkpoint_network import load_network


def manifest(architecture: str = "resnet", actions: int = 2187) -> Manifest:
    described = architecture_description(model_config(architecture), actions)
    return Manifest(7, 700, "2026-11-16T00:00:00+00:00", described, {})


@pytest.mark.parametrize(
    ("architecture", "actions"), [*((name, 2187) for name in ARCHITECTURES), ("resnet", 13527)]
)
def test_what_was_written_loads_like_a_checkpoint_and_plays_as_before(
    tmp_path: Path, architecture: str, actions: int
) -> None:
    network = small_network(3, architecture, actions)
    compact = CompactNetwork.of(network, manifest(architecture, actions))
    compact.write(tmp_path / "small", {"facts": {"plies": "700"}}, {"CARD.md": "# A card\n"})
    loaded, found = load_network(tmp_path / "small")
    assert (found.update, found.plies, found.created) == (7, 700, "2026-11-16T00:00:00+00:00")
    assert {tensor.dtype for tensor in loaded.state_dict().values()} == {torch.float32}
    records = random_positions(200)
    ours, theirs, stored = (inference(each).evaluate(records) for each in (network, loaded, compact.network))
    assert torch.equal(theirs.log_probs, stored.log_probs)
    same = ours.log_probs.argmax(dim=1) == theirs.log_probs.argmax(dim=1)
    assert same.double().mean() >= 0.99
    np.testing.assert_allclose(ours.value, theirs.value, atol=1e-3)
    assert (tmp_path / "small" / "CARD.md").read_text() == "# A card\n"


def test_weights_take_two_bytes_and_every_byte_is_vouched_for(tmp_path: Path) -> None:
    compact = CompactNetwork.of(small_network(1), manifest())
    compact.write(tmp_path / "small", {}, {})
    assert 2 * compact.num_weights <= compact.size < 2.2 * compact.num_weights
    assert verify_folder(tmp_path / "small").files["model.safetensors"].size == compact.size


def test_the_comparison_sees_a_network_that_plays_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compact_network, "_STORED", torch.float8_e5m2)
    with pytest.raises(ExportError, match=r"same move in only .* of 1,000 positions"):
        CompactNetwork.of(small_network(1), manifest())


def test_a_network_that_is_too_large_is_refused_by_its_size() -> None:
    large = model_factory(model_config(blocks=17, channels=128), 2187)
    complaint = rf"at most {MAX_BYTES:,} bytes.* takes 10,\d\d\d,\d\d\d .*model\.blocks"
    with pytest.raises(ExportError, match=complaint):
        CompactNetwork.of(large, manifest())


def test_weights_beyond_half_precision_are_refused_by_name() -> None:
    network = small_network(1)
    name, weights = next(iter(network.named_parameters()))
    weights.data.fill_(70_000.0)
    with pytest.raises(ExportError, match=f"65504.*{name}"):
        CompactNetwork.of(network, manifest())


def test_an_older_network_gives_way_but_nothing_else_does(tmp_path: Path) -> None:
    compact = CompactNetwork.of(small_network(1), manifest())
    older = save_checkpoint(tmp_path)
    compact.write(older, {}, {})
    assert load_network(older)[1].update == 7
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "dear.txt").write_text("keep me")
    with pytest.raises(ExportError, match=r"older network, got .*letters"):
        compact.write(tmp_path / "letters", {}, {})
    assert (tmp_path / "letters" / "dear.txt").read_text() == "keep me"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["letters", older.name]


def test_a_place_that_cannot_be_written_is_an_error_that_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    compact = CompactNetwork.of(small_network(1), manifest())
    with pytest.raises(ExportError, match="cannot write the network to"):
        compact.write(tmp_path / "file" / "small", {}, {})
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
