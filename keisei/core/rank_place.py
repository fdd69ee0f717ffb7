"""Where a process stands among those that learn together, as `torchrun` tells each of them. Knows no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from keisei.errors import ConfigError


@dataclass(frozen=True)
class RankPlace:
    """One of ``count`` processes; ``local_rank`` and ``local_count`` are those on its own machine."""

    rank: int = 0
    count: int = 1
    local_rank: int = 0
    local_count: int = 1

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Self:
        """From the variables that `torchrun` sets; one process alone where they are not set."""
        count = _number(environment, "WORLD_SIZE", 1)
        if count <= 1:
            return cls()
        return cls(
            rank=_number(environment, "RANK"),
            count=count,
            local_rank=_number(environment, "LOCAL_RANK"),
            local_count=_number(environment, "LOCAL_WORLD_SIZE"),
        )

    @property
    def is_alone(self) -> bool:
        return self.count == 1

    @property
    def is_first(self) -> bool:
        """Whether this process keeps the record of the run."""
        return self.rank == 0


def _number(environment: Mapping[str, str], name: str, default: int | None = None) -> int:
    text = environment.get(name)
    if text is None and default is not None:
        return default
    if text is None or not text.isdecimal():
        raise ConfigError(
            f"expected a number in the variable {name}, got {text!r}; start several processes with "
            "`torchrun --nproc-per-node N -m keisei train …`, or unset WORLD_SIZE for one alone"
        )
    return int(text)
