"""Sums over several threads that make the same calls in the same order, as ranks do."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

from torch import Tensor

from keisei.core.row_shares import AddUp

TIMEOUT_SECONDS = 30
Answer = TypeVar("Answer")


def with_joint_sums(parts: Sequence[Callable[[AddUp], Answer]]) -> list[Answer]:
    """Calls each part in a thread of its own; what one passes to its argument is added up over all."""
    together = Barrier(len(parts), timeout=TIMEOUT_SECONDS)
    brought: list[Tensor] = [Tensor()] * len(parts)

    def answer(number: int) -> Answer:
        def add_up(numbers: Tensor) -> Tensor:
            brought[number] = numbers
            together.wait()
            total = sum(brought[1:], start=brought[0])
            together.wait()
            return total

        return parts[number](add_up)

    with ThreadPoolExecutor(len(parts)) as threads:
        return list(threads.map(answer, range(len(parts))))
