"""The layout of weights in a block of bytes."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from keisei.errors import WorkerFailedError
from keisei.training.parallel.weights_layout import WeightsLayout

DTYPES = [torch.float32, torch.float64, torch.int64, torch.bfloat16, torch.bool]


@st.composite
def weights(draw: st.DrawFn) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(draw(st.integers(0, 1000)))
    shapes = draw(
        st.lists(st.tuples(st.lists(st.integers(0, 5), max_size=3), st.sampled_from(DTYPES)), max_size=6)
    )
    return {
        f"w{index}": torch.randint(0, 2**31, shape, generator=generator).to(dtype)
        for index, (shape, dtype) in enumerate(shapes)
    }


@given(weights())
def test_what_is_written_is_read_whatever_shape_and_type(original: dict[str, Tensor]) -> None:
    layout = WeightsLayout.of(original)
    memory = bytearray(layout.nbytes)
    layout.write(original, memoryview(memory))
    read = layout.tensors(memoryview(memory)) if memory else {}
    for name, tensor in original.items():
        if tensor.numel():
            assert read[name].dtype == tensor.dtype
            assert torch.equal(read[name], tensor)


def test_tensors_in_any_memory_order_are_written_in_the_order_of_their_indices() -> None:
    transposed = {"w": torch.arange(6.0).reshape(2, 3).T}
    layout = WeightsLayout.of(transposed)
    memory = bytearray(layout.nbytes)
    layout.write(transposed, memoryview(memory))
    assert layout.tensors(memoryview(memory))["w"].tolist() == [[0, 3], [1, 4], [2, 5]]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"a": torch.zeros(3)}, "only one of the two has 'b'"),
        ({"a": torch.zeros(3), "b": torch.zeros(1), "c": torch.zeros(1)}, "only one of the two has 'c'"),
        (
            {"a": torch.zeros(4), "b": torch.zeros(1)},
            r"expected the weights 'a' as torch.float32 \(3,\), got .*\(4,\)",
        ),
        ({"a": torch.zeros(3).double(), "b": torch.zeros(1)}, "got torch.float64"),
    ],
)
def test_weights_of_another_network_are_refused(other: dict[str, Tensor], message: str) -> None:
    layout = WeightsLayout.of({"a": torch.zeros(3), "b": torch.zeros(1)})
    with pytest.raises(WorkerFailedError, match=message):
        layout.check(other)
