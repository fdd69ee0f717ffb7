"""Numbers that change in the course of training, as a pure function of its progress."""

from __future__ import annotations

import math

from keisei.errors import ConfigError

KINDS = ("constant", "linear", "cosine", "exponential", "step")


def scheduled(kind: str, start: float, end: float, progress: float, *, steps: int) -> float:
    """The value at ``progress`` (0 = beginning, 1 = end; outside it stays where it began or ended).

    constant: ``start``. linear: the same change in every moment. cosine: half a wave, slow at both ends.
    exponential: the same factor in every moment, so both ends must be above 0. step: ``steps`` (at least 2)
    plateaus of equal length and distance, the first at ``start``, the last at ``end``; others ignore
    ``steps``.
    """
    progress = min(max(progress, 0.0), 1.0)
    match kind:
        case "constant":
            return start
        case "linear":
            return start + (end - start) * progress
        case "cosine":
            return end + (start - end) * (1 + math.cos(math.pi * progress)) / 2
        case "exponential":
            return _exponential(start, end, progress)
        case "step":
            plateau = min(int(progress * steps), steps - 1)
            return start + (end - start) * plateau / (steps - 1)
    raise ConfigError(f"unknown schedule {kind!r}; use one of {', '.join(KINDS)}")


def _exponential(start: float, end: float, progress: float) -> float:
    if min(start, end) <= 0:
        raise ConfigError(
            f"an exponential schedule needs both ends above 0, got {start!r} and {end!r}; use linear"
        )
    return start * math.exp(math.log(end / start) * progress)
