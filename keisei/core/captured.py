"""CUDA graphs of ordinary functions: many small kernels, launched at once instead of one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import torch
from torch import Tensor

Answer = TypeVar("Answer")

#: Runs before a capture: compilers and libraries allocate what they need.
WARM_UP_RUNS = 3


def captured(
    function: Callable[[], Answer], *generators: torch.Generator
) -> tuple[torch.cuda.CUDAGraph, Answer]:
    """A graph of what ``function`` does on the card, and where each replay leaves its answer."""
    aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]  # torch leaves it untyped
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(WARM_UP_RUNS):
            function()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    for generator in generators:
        graph.register_generator_state(generator)
    # Other threads may use the card meanwhile: only what this one does must be fit to be captured.
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        answer = function()
    return graph, answer


class Captured(Generic[Answer]):
    """A function of tensors of fixed shapes, on a GPU as one graph; the next call overwrites the answer of this one."""

    def __init__(self, function: Callable[..., Answer]) -> None:
        self._function = function
        self._inputs: list[Tensor] = []
        self._graph: torch.cuda.CUDAGraph | None = None
        self._answer: Answer

    def __call__(self, *tensors: Tensor) -> Answer:
        if tensors[0].device.type != "cuda":
            return self._function(*tensors)
        if self._graph is None:
            self._inputs = [tensor.clone() for tensor in tensors]
            self._graph, self._answer = captured(lambda: self._function(*self._inputs))
        for held, given in zip(self._inputs, tensors, strict=True):
            held.copy_(given)
        self._graph.replay()
        return self._answer
