"""The curves of the Learning panel: which there are, what good looks like, and their points for a chart."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, get_args

from keisei.record.journal_reader import MetricPoint

Axis = Literal["updates", "plies", "hours"]
AXES: Final = get_args(Axis)

#: More points than a chart has pixels only cost time: the trainer's, where all cores are busy.
MAX_POINTS: Final = 240
SECONDS_PER_HOUR: Final = 3600.0
COLOURS: Final = ("#2f7fb8", "#d9822b", "#3d9970", "#b5473c", "#7d5ba6", "#8a7a3d", "#3a8f98", "#a8557f")


@dataclass(frozen=True)
class Curve:
    """One chart: the metrics it shows by label, and one line on what good looks like."""

    title: str
    metrics: Mapping[str, str]
    good: str


CATALOGUE: Final = (
    Curve(
        "Policy loss",
        {"policy_loss": "policy"},
        "Hovers just below 0; it does not fall as play improves, and far from 0 the steps are too large.",
    ),
    Curve(
        "Value loss",
        {"value_loss": "value"},
        "Falls and then levels off: results become predictable. A rise means that play has changed.",
    ),
    Curve(
        "Entropy",
        {"entropy": "nats"},
        "Falls slowly from about 3.8 (a random mover); below 0.1 the policy hardly explores any more.",
    ),
    Curve(
        "KL divergence of an update",
        {"approx_kl": "KL"},
        "Between 0.002 and 0.03; above 0.1 an update leaves the data it learned from.",
    ),
    Curve("Clip fraction", {"clip_fraction": "clipped"}, "0.05 to 0.3; near 0 the steps could be larger."),
    Curve(
        "Explained variance",
        {"explained_variance": "explained"},
        "Rises towards 1; 0 is no better than a constant guess, below 0 is worse.",
    ),
    Curve(
        "Gradient norm", {"gradient_norm": "norm"}, "Steady; spikes that last call for a lower learning rate."
    ),
    Curve(
        "Ratio check",
        {"first_ratio_deviation": "first minibatch"},
        "0.000: the policy that learns is the policy that played. More than 0.005 is a fault.",
    ),
    Curve(
        "Game length",
        {"game_plies": "plies"},
        "Falls from the random mover's hundreds, then settles around 80 to 130 as both sides defend.",
    ),
    Curve(
        "Results",
        {"black_share": "Black wins", "white_share": "White wins", "truncated_share": "cut off"},
        "Black and White close to each other, and few games cut off by the ply cap.",
    ),
    Curve(
        "How games end",
        {
            "ended_checkmate": "checkmate",
            "ended_repetition": "repetition",
            "ended_perpetual_check": "perpetual check",
            "ended_declaration": "declaration",
            "ended_impasse": "impasse",
            "ended_max_plies": "ply cap",
        },
        "Checkmate far ahead; much repetition means that the policy has stopped looking for a win.",
    ),
    Curve(
        "Speed",
        {"plies_per_second": "plies/s"},
        "Level. A slow fall often means a hot machine or a full disk.",
    ),
    Curve("Policy lag", {"policy_lag": "versions"}, "0 or 1: games are played with fresh weights."),
    Curve(
        "Schedules",
        {"learning_rate": "learning rate", "entropy_weight": "entropy weight"},
        "As configured; shown so that a bend elsewhere can be explained.",
    ),
)


class Smoother(NamedTuple):
    """An exponential moving average without a bias to the start, as far as it has come."""

    weight: float
    average: float = 0.0
    total: float = 0.0

    def after(self, value: float) -> tuple["Smoother", float]:
        """The average with one value more, and what it says there; a gap (NaN) stays a gap."""
        if not math.isfinite(value):
            return self, math.nan
        average = self.weight * self.average + (1 - self.weight) * value
        total = self.weight * self.total + (1 - self.weight)
        return Smoother(self.weight, average, total), average / total


def smoothed(values: Sequence[float], weight: float) -> list[float]:
    """The moving average at every value."""
    smoother, result = Smoother(weight), []
    for value in values:
        smoother, average = smoother.after(value)
        result.append(average)
    return result


def axis_place(point: MetricPoint, axis: Axis, first: MetricPoint) -> float:
    """Where a point stands on the chosen axis; hours count from the first point."""
    match axis:
        case "updates":
            return point.update
        case "plies":
            return point.plies
        case "hours":
            return (point.time - first.time) / SECONDS_PER_HOUR


def stretch_length(count: int, limit: int = MAX_POINTS) -> int:
    """How many neighbours are averaged so that ``limit`` points stand for ``count``, the last of which stays as it is.

    A power of two: while a line grows, its stretches stay what they are, and at times two become one.
    """
    length = 1
    while math.ceil((count - 1) / length) + 1 > limit:
        length *= 2
    return length


def thinned(pairs: Sequence[tuple[float, float]], limit: int = MAX_POINTS) -> list[tuple[float, float]]:
    """At most ``limit`` points: the mean of each stretch of neighbours; the last point is kept as it is."""
    earlier, length = pairs[:-1], stretch_length(len(pairs), limit)
    means = [mean_point(earlier[begin : begin + length]) for begin in range(0, len(earlier), length)]
    return [*means, *pairs[-1:]]


def mean_point(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The middle of neighbours; those without a number do not count."""
    finite = [pair for pair in pairs if math.isfinite(pair[1])] or pairs
    return sum(x for x, _ in finite) / len(finite), sum(y for _, y in finite) / len(finite)


def points_text(points: Sequence[Sequence[float | None]]) -> str:
    """Points as one string, for an option whose name begins with a colon: the browser reads it as JavaScript.

    As lists they would be watched for changes one by one, which costs more than all the rest of a chart.
    """
    return json.dumps(points, separators=(",", ":"), allow_nan=False)


@dataclass(frozen=True)
class Line:
    """A named line of a chart; ``data`` are its points as `points_text` writes them."""

    name: str
    data: str


def chart(lines: Sequence[Line], axis_name: str, *, log: bool, dark: bool | None) -> dict[str, Any]:
    """ECharts options. The tooltip is drawn, not written as HTML: names of runs are other people's text."""
    ink = {True: "#cfc8bb", False: "#4a453e", None: "#8a8378"}[dark]
    faint = "rgba(128,120,108,.22)"
    label = {"color": ink, "fontSize": 11, "hideOverlap": True}
    return {
        "animation": False,
        "color": list(COLOURS),
        "grid": {
            "left": 8,
            "right": 30,
            "top": 30 if len(lines) > 1 else 12,
            "bottom": 22,
            "containLabel": True,
        },
        "legend": {
            "show": len(lines) > 1,
            "type": "scroll",
            "top": 0,
            "icon": "roundRect",
            "itemWidth": 14,
            "itemHeight": 8,
            "textStyle": {"color": ink},
        },
        "tooltip": {"trigger": "axis", "renderMode": "richText", "confine": True},
        "xAxis": {
            "type": "value",
            "name": axis_name,
            "nameLocation": "middle",
            "nameGap": 24,
            "nameTextStyle": {"color": ink},
            "min": "dataMin",
            "max": "dataMax",
            "axisLabel": label,
            "splitLine": {"show": False},
        },
        "yAxis": {
            "type": "log" if log else "value",
            "scale": True,
            "axisLabel": label,
            "splitLine": {"lineStyle": {"color": faint}},
        },
        "series": [
            {
                "type": "line",
                "name": line.name,
                ":data": line.data,
                "showSymbol": False,
                "lineStyle": {"width": 2},
            }
            for line in lines
        ],
    }
