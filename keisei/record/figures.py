"""Numbers as people read them: counts, times left, and curves in one line of text."""

import math
from collections.abc import Sequence

SECONDS_PER_MINUTE = 60
SECONDS_PER_HOUR = 3600
SECONDS_PER_DAY = 86_400

BLOCKS = "▁▂▃▄▅▆▇█"
ASCII_BLOCKS = "_.-=+*%#"
NOT_A_NUMBER = "!"


def duration(seconds: float) -> str:
    """A time span in its two largest units: ``4 min 12 s``."""
    whole = round(seconds)
    if whole < SECONDS_PER_MINUTE:
        return f"{whole} s"
    for unit, size, part, part_size in (
        ("d", SECONDS_PER_DAY, "h", SECONDS_PER_HOUR),
        ("h", SECONDS_PER_HOUR, "min", SECONDS_PER_MINUTE),
    ):
        if whole >= size:
            return f"{whole // size} {unit} {whole % size // part_size} {part}"
    return f"{whole // SECONDS_PER_MINUTE} min {whole % SECONDS_PER_MINUTE} s"


def sparkline(values: Sequence[float], width: int, *, ascii_only: bool = False) -> str:
    """The last ``width`` values as a row of blocks from the lowest to the highest.

    ``!`` is not a finite number.
    """
    blocks = ASCII_BLOCKS if ascii_only else BLOCKS
    shown = list(values)[-width:] if width > 0 else []
    finite = [value for value in shown if math.isfinite(value)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 0.0)
    return "".join(_block(value, low, high, blocks) for value in shown)


def _block(value: float, low: float, high: float, blocks: str) -> str:
    if not math.isfinite(value):
        return NOT_A_NUMBER
    if high == low:
        return blocks[len(blocks) // 2]
    share = value / (high - low) - low / (high - low)  # not (value - low) / …, which can overflow
    return blocks[min(int(share * len(blocks)), len(blocks) - 1)]
