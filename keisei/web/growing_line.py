"""A line of a chart that grows with its run: a new point costs what one point costs, however long the line is."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from keisei.record.journal_reader import MetricPoint
from keisei.web.curves import MAX_POINTS, Axis, Smoother, axis_place, mean_point, stretch_length
from keisei.web.run_feed import RunFeed

#: Digits of a place on the axis: plies of a long run still differ.
_PLACE_DIGITS: Final = 10
_VALUE_DIGITS: Final = 5
#: Lines that are kept for the next update: some twenty for each way of looking at a run.
KEPT_LINES: Final = 512


class GrowingLine:
    """The points of one metric as JavaScript for ECharts: thinned, smoothed, and null where there is no number.

    Smoothing counts the points that are shown, so that it looks alike on short and long runs.
    """

    def __init__(self, axis: Axis, smoothing: float, *, log: bool, limit: int = MAX_POINTS) -> None:
        self._axis = axis
        self._smoothing = smoothing
        self._log = log
        self._limit = limit
        self._points: Sequence[MetricPoint] = ()
        self._begin(1)

    def _begin(self, length: int) -> None:
        """From the first point on, with stretches of ``length`` points."""
        self._length = length
        self._taken = 0
        self._smoother = Smoother(self._smoothing)
        self._texts: list[str] = []
        self._count = -1
        self._text = ""

    def text(self, points: Sequence[MetricPoint]) -> str:
        """The line, given all its points: the list of the last call, grown, or another where the run began anew."""
        length = stretch_length(len(points), self._limit)
        if points is not self._points or length != self._length:
            self._points = points
            self._begin(length)
        if len(points) != self._count:
            self._count = len(points)
            self._take_whole_stretches(points)
            self._text = f"[{','.join([*self._texts, *self._ending(points)])}]"
        return self._text

    def _take_whole_stretches(self, points: Sequence[MetricPoint]) -> None:
        """The last point stays out: it is shown as it is until another one follows."""
        while self._taken + self._length < len(points):
            stretch = points[self._taken : self._taken + self._length]
            self._smoother, text = self._shown(self._smoother, stretch)
            self._texts.append(text)
            self._taken += self._length

    def _ending(self, points: Sequence[MetricPoint]) -> list[str]:
        """The stretch that is not whole yet, and the last point."""
        smoother, texts = self._smoother, []
        for stretch in (points[self._taken : -1], points[-1:]):
            if stretch:
                smoother, text = self._shown(smoother, stretch)
                texts.append(text)
        return texts

    def _shown(self, smoother: Smoother, stretch: Sequence[MetricPoint]) -> tuple[Smoother, str]:
        first = self._points[0]
        x, mean = mean_point([(axis_place(point, self._axis, first), point.value) for point in stretch])
        smoother, value = smoother.after(mean)
        is_drawn = math.isfinite(value) and (value > 0 or not self._log)
        number = f"{value:.{_VALUE_DIGITS}g}" if is_drawn else "null"
        return smoother, f"[{x:.{_PLACE_DIGITS}g},{number}]"


@lru_cache(maxsize=KEPT_LINES)
def growing_line(_feed: RunFeed, _metric: str, axis: Axis, smoothing: float, log: bool) -> GrowingLine:
    """The line that all visitors share who look at a metric of a run in the same way."""
    return GrowingLine(axis, smoothing, log=log)
