import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace

import pytest

from keisei.web.gpu_facts import GpuFacts, _library


class DriverError(Exception):
    pass


class FakeDriver(ModuleType):
    """NVIDIA's library on a machine with these cards: (busy %, bytes used)."""

    NVMLError = DriverError

    def __init__(self, cards: list[tuple[int, int]], *, is_there: bool = True) -> None:
        super().__init__("pynvml")
        self._cards = cards
        self._is_there = is_there

    def nvmlInit(self) -> None:  # noqa: N802
        if not self._is_there:
            raise DriverError

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return len(self._cards)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802
        return index

    def nvmlDeviceGetUtilizationRates(self, card: int) -> SimpleNamespace:  # noqa: N802
        if self._cards[card][0] < 0:
            raise DriverError
        return SimpleNamespace(gpu=self._cards[card][0])

    def nvmlDeviceGetMemoryInfo(self, card: int) -> SimpleNamespace:  # noqa: N802
        return SimpleNamespace(used=self._cards[card][1])


@pytest.fixture(autouse=True)
def forget_the_library() -> Iterator[None]:
    _library.cache_clear()
    yield
    _library.cache_clear()


@pytest.mark.parametrize(
    ("driver", "expected"),
    [
        (FakeDriver([(80, 100), (20, 50)]), GpuFacts(0.8, 150)),
        (FakeDriver([]), None),
        (FakeDriver([(-1, 0)]), None),
        (FakeDriver([(80, 100)], is_there=False), None),
        (None, None),
    ],
)
def test_cards_are_summed_and_what_cannot_be_asked_is_unknown(
    monkeypatch: pytest.MonkeyPatch, driver: ModuleType | None, expected: GpuFacts | None
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", driver)
    assert GpuFacts.gather() == expected
