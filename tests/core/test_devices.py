"""Where the network runs, and what is said when it cannot run there."""

import pytest
import torch

from keisei.core.devices import choose_device
from keisei.errors import ConfigError


def without_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)


def with_gpus(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)


def test_auto_is_the_cpu_where_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    without_gpus(monkeypatch)
    assert choose_device("auto") == torch.device("cpu")


def test_auto_is_the_gpu_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with_gpus(monkeypatch, 1)
    assert choose_device("auto") == torch.device("cuda")


def test_the_cpu_can_be_asked_for_beside_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    with_gpus(monkeypatch, 1)
    assert choose_device("cpu") == torch.device("cpu")


@pytest.mark.parametrize("name", ["cuda", "cuda:0", "cuda:3"])
def test_a_gpu_that_is_not_there_is_refused_with_the_next_step(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    without_gpus(monkeypatch)
    with pytest.raises(ConfigError, match=rf"training\.device is '{name}'.*0 GPUs.*auto or cpu.*doctor"):
        choose_device(name)


def test_the_number_of_a_gpu_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    with_gpus(monkeypatch, 2)
    assert choose_device("cuda:1") == torch.device("cuda:1")
    with pytest.raises(ConfigError, match=r"'cuda:2'.*sees 2 GPUs"):
        choose_device("cuda:2")
