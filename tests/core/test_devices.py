"""Where the network runs, and what is said when it cannot run there."""

import pytest
import torch

from keisei.config_loader import load_config
from keisei.core.devices import (
    OutOfMemory,
    choose_device,
    full_device_named,
    lacks_memory,
    memory_explained,
)
from keisei.errors import ConfigError, DeviceMemoryError


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


# ---- a device without room

FULL = [
    OutOfMemory("CUDA out of memory. Tried to allocate 20.00 GiB.\nMore advice follows"),
    RuntimeError("CUDA error: out of memory\nCUDA kernel errors might be reported later"),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"),
    RuntimeError("cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED"),
]
OTHERS = [
    RuntimeError("CUDA error: an illegal memory access was encountered"),
    RuntimeError("cuDNN error: CUDNN_STATUS_EXECUTION_FAILED"),
    ValueError("out of memory"),
    KeyboardInterrupt(),
]


@pytest.mark.parametrize("error", FULL, ids=str)
def test_a_full_device_is_known_by_any_of_its_names(error: RuntimeError) -> None:
    assert lacks_memory(error)
    with pytest.raises(OutOfMemory) as caught, full_device_named():
        raise error
    assert str(caught.value) == str(error)


def test_a_full_device_is_known_behind_the_error_of_a_capture_that_it_broke_off() -> None:
    def capture() -> None:
        try:
            raise FULL[0]
        finally:
            raise RuntimeError("CUDA error: operation failed due to a previous error during capture")

    with pytest.raises(OutOfMemory, match="Tried to allocate"), full_device_named():
        capture()
    with pytest.raises(DeviceMemoryError, match="CUDA out of memory"), memory_explained(load_config().config):
        capture()


@pytest.mark.parametrize("error", OTHERS, ids=repr)
def test_other_errors_stay_what_they_are(error: BaseException) -> None:
    assert not lacks_memory(error)
    config = load_config().config
    with pytest.raises(type(error)) as caught, memory_explained(config), full_device_named():
        raise error
    assert caught.value is error


@pytest.mark.parametrize("error", FULL, ids=str)
@pytest.mark.parametrize(("name", "run"), [("strong", "strong"), (None, "RUN")])
def test_what_to_lower_is_told_and_how_to_go_on(error: RuntimeError, name: str | None, run: str) -> None:
    settings = {"env.num_games": 8, "training.minibatch_size": 32, "record.name": name}
    config = load_config(None, settings).config
    with pytest.raises(DeviceMemoryError) as caught, memory_explained(config):
        raise error
    words = str(caught.value)
    assert "no room for env.num_games 8 and training.minibatch_size 32 (" in words
    assert "to 4 or 16 say" in words
    assert words.endswith(f"`keisei train --resume {run}`")
    assert "\n" not in words
