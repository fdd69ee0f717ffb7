"""Line charts as SVG text, for pages without a script: axes, lines, error bars. Colours come from the page's CSS."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final, NamedTuple

WIDTH: Final = 400
HEIGHT: Final = 210
LEFT: Final = 58
RIGHT: Final = 14
TOP: Final = 10
BOTTOM: Final = 36
TICKS: Final = 5
#: Steps between ticks that people can add up in their heads, times a power of ten.
NICE_STEPS: Final = (1, 2, 2.5, 5, 10)
BAR_HALF: Final = 3
LABEL_GAP: Final = 6
BASELINE: Final = 4
COLOURS: Final = 8
#: Where a chart of one value begins and ends, as a share of that value.
LONELY_MARGIN: Final = 0.1
UNITS: Final = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


@dataclass(frozen=True)
class Line:
    """A line of a chart. NaN and infinity are gaps; ``bars`` are (x, low, high)."""

    name: str
    points: Sequence[tuple[float, float]]
    bars: Sequence[tuple[float, float, float]] = ()
    is_faint: bool = False
    colour: int = 0
    has_dots: bool = False


class Span(NamedTuple):
    """What an axis shows."""

    low: float
    high: float

    def share(self, value: float) -> float:
        return (value - self.low) / (self.high - self.low)

    def clipped(self, value: float) -> float:
        return min(max(value, self.low), self.high)


def line_chart(lines: Sequence[Line], title: str, x_name: str, y_span: Span | None = None) -> str:
    """The chart as one SVG element; without a single finite point it says so."""
    finite = [point for line in lines for point in line.points if all(map(math.isfinite, point))]
    if not finite:
        return '<p class="note">No values yet.</p>'
    across = _span(x for x, _ in finite)
    up = y_span or _span([*(y for _, y in finite), *_bar_ends(lines)])
    frame = _Frame(across, up)
    return "\n".join(
        [
            f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">',
            *_grid(frame, x_name),
            *(part for line in lines for part in _line(frame, line)),
            "</svg>",
        ]
    )


def _bar_ends(lines: Iterable[Line]) -> list[float]:
    ends = [end for line in lines for _, *pair in line.bars for end in pair]
    return [end for end in ends if math.isfinite(end)]


def _span(values: Iterable[float]) -> Span:
    known = list(values)
    low, high = min(known), max(known)
    if low == high:
        margin = abs(low) * LONELY_MARGIN or 1.0
        return Span(low - margin, high + margin)
    return Span(low, high)


class _Frame:
    """From values to places in the picture."""

    def __init__(self, across: Span, up: Span) -> None:
        self.across = across
        self.up = up

    def x(self, value: float) -> float:
        return LEFT + self.across.share(value) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM - self.up.share(value) * (HEIGHT - TOP - BOTTOM)


def ticks(span: Span, count: int = TICKS) -> list[float]:
    """Round numbers inside a span, about ``count`` of them."""
    rough = (span.high - span.low) / count
    power = 10 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in NICE_STEPS if factor * power >= rough * (1 - 1e-9))
    first = math.ceil(span.low / step - 1e-9)
    last = math.floor(span.high / step + 1e-9)
    return [index * step for index in range(first, last + 1)]


def short_number(value: float, step: float) -> str:
    """A tick's label: no more digits than ``step``, the distance to the next tick, asks for."""
    for size, unit in UNITS:
        if abs(value) >= size and step >= size / 100:
            return f"{value / size:g}{unit}"
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    text = f"{value:.{digits + 1}f}".rstrip("0").rstrip(".") if digits else f"{value:.0f}"
    return text.replace("-", "−") if float(text) else "0"


def _grid(frame: _Frame, x_name: str) -> Iterator[str]:
    bottom = HEIGHT - BOTTOM
    for value, label in _labels(frame.up):
        y = frame.y(value)
        yield f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>'
        yield f'<text class="right" x="{LEFT - LABEL_GAP}" y="{y + BASELINE:.1f}">{label}</text>'
    for value, label in _labels(frame.across):
        yield f'<text class="middle" x="{frame.x(value):.1f}" y="{bottom + 3 * LABEL_GAP}">{label}</text>'
    yield f'<path class="axis" d="M{LEFT} {bottom}H{WIDTH - RIGHT}"/>'
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield f'<text class="middle" x="{middle:g}" y="{HEIGHT - BASELINE}">{escape(x_name)}</text>'


def _labels(span: Span) -> list[tuple[float, str]]:
    values = ticks(span)
    step = values[1] - values[0] if len(values) > 1 else span.high - span.low
    return [(value, short_number(value, step)) for value in values]


def _line(frame: _Frame, line: Line) -> Iterator[str]:
    look = f"c{line.colour % COLOURS}{' faint' if line.is_faint else ''}"
    for stretch in _stretches(line.points):
        path = "L".join(f"{frame.x(x):.1f} {frame.y(frame.up.clipped(y)):.1f}" for x, y in stretch)
        yield f'<path class="line {look}" d="M{path}"/>'
        if line.has_dots:
            yield from (
                f'<circle class="dot {look}" cx="{frame.x(x):.1f}" cy="{frame.y(frame.up.clipped(y)):.1f}" r="3"/>'
                for x, y in stretch
            )
    for x, low, high in line.bars:
        place = frame.x(x)
        top, bottom = (frame.y(frame.up.clipped(end)) for end in (high, low))
        caps = f"M{place - BAR_HALF:.1f} {{0:.1f}}h{2 * BAR_HALF}"
        yield (
            f'<path class="bar {look}" d="M{place:.1f} {top:.1f}V{bottom:.1f}'
            f'{caps.format(top)}{caps.format(bottom)}"/>'
        )


def _stretches(points: Sequence[tuple[float, float]]) -> Iterator[list[tuple[float, float]]]:
    """The parts of a line between its gaps."""
    stretch: list[tuple[float, float]] = []
    for point in points:
        if all(map(math.isfinite, point)):
            stretch.append(point)
        elif stretch:
            yield stretch
            stretch = []
    if stretch:
        yield stretch
