"""The GPU benchmark as far as it goes without a GPU: arithmetic, and what it says where there is none."""

import pytest
import torch

from keisei.bench.gpu import NetworkRates, Shape, _rate_rows, _run_rows, run
from keisei.bench.gpu_run import RunFigures
from keisei.bench.table import Table
from keisei.config_loader import load_config
from keisei.config_schema import ModelConfig
from keisei.core.model_factory import model_factory
from keisei.errors import ConfigError


def test_operations_are_those_of_the_convolutions() -> None:
    shape = Shape.parse("3x16")
    network = model_factory(ModelConfig(architecture="resnet", blocks=3, channels=16, se_ratio=0), 2187)
    weights = sum(
        layer.weight.numel() for layer in network.modules() if getattr(layer, "kernel_size", 0) == (3, 3)
    )
    assert str(shape) == "3x16"
    assert shape.forward_operations == 2 * 81 * weights


@pytest.mark.parametrize("text", ["6", "x128", "6x", "sixx128", "6x128x2"])
def test_another_way_to_write_a_network_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="BLOCKSxCHANNELS"):
        Shape.parse(text)


def test_the_bound_counts_play_once_and_learning_by_epochs() -> None:
    rates = NetworkRates(forward=600.0, train=300.0)
    assert rates.bound(1) == pytest.approx(200)
    assert rates.bound(2) == pytest.approx(120)


def test_result_lines_fit_the_header() -> None:
    figures = RunFigures([1.0], [2.0], [3.0], 0.5)
    rates = NetworkRates(forward=600.0, train=300.0)
    table = Table(_rate_rows(Shape(6, 128), rates, 1.0) + _run_rows("6x128, epochs 1", figures, 200.0))
    lines = (*table.results_header(), *table.results_lines("a card", "abc1234"))
    assert len({line.count("|") for line in lines}) == 1


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU; run `keisei bench gpu` itself")
def test_without_a_gpu_it_says_so() -> None:
    with pytest.raises(ConfigError, match=r"needs a GPU.*keisei doctor"):
        run(load_config().config, [Shape(6, 128)], updates=1, progress=print)
