"""Weights as a stream: exact, smaller where it can be, and honest where it cannot."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from worker_samples import network, sample_config

from keisei.errors import WorkerFailedError
from keisei.training.parallel.weights_layout import WeightsLayout
from keisei.training.parallel.weights_stream import pack_weights, unpack_weights


@pytest.mark.parametrize("compress", [True, False])
def test_a_network_comes_back_to_the_last_bit(compress: bool) -> None:
    weights = network(sample_config()).state_dict()
    layout = WeightsLayout.of(weights)
    read = unpack_weights(pack_weights(weights, layout, compress=compress), layout)
    assert read.keys() == weights.keys()
    assert all(torch.equal(read[name], weights[name]) for name in weights)


def test_18_compression_makes_the_weights_of_a_network_smaller() -> None:
    weights = network(sample_config(model__channels=32)).state_dict()
    layout = WeightsLayout.of(weights)
    plain = pack_weights(weights, layout, compress=False)
    assert len(plain) == layout.nbytes + 1
    assert len(pack_weights(weights, layout)) < 0.9 * len(plain)


def test_18_what_does_not_become_smaller_is_sent_as_it_is() -> None:
    noise = {"w": torch.randint(0, 256, (4096,), dtype=torch.uint8)}
    layout = WeightsLayout.of(noise)
    stream = pack_weights(noise, layout)
    assert len(stream) == layout.nbytes + 1
    assert torch.equal(unpack_weights(stream, layout)["w"], noise["w"])


@given(st.binary(max_size=300))
def test_a_damaged_stream_is_refused(stream: bytes) -> None:
    layout = WeightsLayout.of({"w": torch.zeros(1000)})
    with pytest.raises(WorkerFailedError, match="stream"):
        unpack_weights(stream, layout)


@pytest.mark.parametrize("compress", [True, False])
def test_the_stream_of_another_network_is_refused(compress: bool) -> None:
    large, small = network(sample_config(model__channels=16)), network(sample_config(model__channels=8))
    weights = large.state_dict()
    stream = pack_weights(weights, WeightsLayout.of(weights), compress=compress)
    with pytest.raises(WorkerFailedError, match=r"both ends must have the same network|damaged stream"):
        unpack_weights(stream, WeightsLayout.of(small.state_dict()))
