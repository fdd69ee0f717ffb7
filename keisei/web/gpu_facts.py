"""How busy the graphics cards of this machine are, where there are any and NVIDIA's library can be asked."""

from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType


@dataclass(frozen=True)
class GpuFacts:
    """All cards together."""

    share: float
    """Of the time that something ran on the busiest card."""
    memory_bytes: int

    @classmethod
    def gather(cls) -> "GpuFacts | None":
        """Ask the driver; None where there is no card, no driver or no library for it."""
        library = _library()
        if library is None:
            return None
        try:
            cards = [library.nvmlDeviceGetHandleByIndex(i) for i in range(library.nvmlDeviceGetCount())]
            shares = [library.nvmlDeviceGetUtilizationRates(card).gpu / 100 for card in cards]
            memory = sum(library.nvmlDeviceGetMemoryInfo(card).used for card in cards)
        except library.NVMLError:  # not every card can be asked everything
            return None
        return cls(max(shares), memory) if shares else None


@lru_cache(maxsize=1)
def _library() -> ModuleType | None:
    """NVIDIA's library, initialised once."""
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    library: ModuleType = pynvml
    return library
