"""CUDA graphs of ordinary functions: many kernels, launched at once instead of one by one."""

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
    """A graph of what ``function`` does on the card, and where each replay leaves its answer. It runs before, too."""
    aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]  # torch leaves it untyped
    for _ in range(WARM_UP_RUNS):
        _run(function, aside)
    return _capture(function, aside, *generators)


def _run(function: Callable[[], Answer], aside: torch.cuda.Stream) -> Answer:
    """In the stream that a capture will use, between what is before and what comes after it."""
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        answer = function()
    torch.cuda.current_stream().wait_stream(aside)
    return answer


def _capture(
    function: Callable[[], Answer], aside: torch.cuda.Stream, *generators: torch.Generator
) -> tuple[torch.cuda.CUDAGraph, Answer]:
    graph = torch.cuda.CUDAGraph()
    for generator in generators:
        graph.register_generator_state(generator)
    # Other threads may use the card meanwhile: only what this one does must be fit to be captured.
    with torch.cuda.graph(graph, stream=aside, capture_error_mode="thread_local"):
        answer = function()
    return graph, answer


class Captured(Generic[Answer]):
    """A function of tensors, on a GPU as one graph; the next call overwrites the answer of this one.

    The first calls are made launch by launch, and tensors of other shapes than those that were captured always are. So
    the function may change things: it does so once a call.
    """

    def __init__(self, function: Callable[..., Answer]) -> None:
        self._function = function
        self._calls = 0
        self._aside: torch.cuda.Stream | None = None
        self._inputs: list[Tensor] = []
        self._graph: torch.cuda.CUDAGraph | None = None
        self._answer: Answer

    def __call__(self, *tensors: Tensor) -> Answer:
        if tensors[0].device.type != "cuda":
            return self._function(*tensors)
        if self._aside is None:
            self._aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]  # as above
        self._calls += 1
        if self._calls <= WARM_UP_RUNS:
            return _run(lambda: self._function(*tensors), self._aside)
        if self._graph is None:
            self._inputs = [tensor.clone() for tensor in tensors]
            self._graph, self._answer = _capture(lambda: self._function(*self._inputs), self._aside)
        if any(held.shape != given.shape for held, given in zip(self._inputs, tensors, strict=True)):
            return self._function(*tensors)
        torch._foreach_copy_(self._inputs, list(tensors))
        self._graph.replay()
        return self._answer
