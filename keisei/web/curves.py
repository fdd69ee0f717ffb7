"""The curves of the Learning panel: which there are, what good looks like, and their points for a chart."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Literal, get_args

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
        "Falls slowly from about 3.8 (a random mover); below 0.3 the policy hardly explores any more.",
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


def smoothed(values: Sequence[float], weight: float) -> list[float]:
    """Exponential moving average without a bias to the start; gaps (NaN) stay gaps."""
    average = total = 0.0
    result = []
    for value in values:
        if math.isfinite(value):
            average = weight * average + (1 - weight) * value
            total = weight * total + (1 - weight)
            result.append(average / total)
        else:
            result.append(math.nan)
    return result


def axis_values(points: Sequence[MetricPoint], axis: Axis) -> list[float]:
    """Where the points stand on the chosen axis; hours count from the first point."""
    readings: Mapping[Axis, Callable[[MetricPoint], float]] = {
        "updates": lambda point: point.update,
        "plies": lambda point: point.plies,
        "hours": lambda point: (point.time - points[0].time) / SECONDS_PER_HOUR,
    }
    return [readings[axis](point) for point in points]


def thinned(pairs: Sequence[tuple[float, float]], limit: int = MAX_POINTS) -> list[tuple[float, float]]:
    """At most ``limit`` points: the mean of each stretch of neighbours; the last point is kept as it is."""
    if len(pairs) <= limit:
        return list(pairs)
    stretches = limit - 1
    edges = [index * (len(pairs) - 1) // stretches for index in range(stretches + 1)]
    means = [_mean(pairs[begin:end]) for begin, end in pairwise(edges)]
    return [*means, pairs[-1]]


def _mean(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    finite = [pair for pair in pairs if math.isfinite(pair[1])] or pairs
    return sum(x for x, _ in finite) / len(finite), sum(y for _, y in finite) / len(finite)


def line_points(
    points: Sequence[MetricPoint], axis: Axis, smoothing: float, *, log: bool
) -> list[list[float | None]]:
    """The points of one line for ECharts; None is a gap, and what a logarithm cannot show is one.

    Smoothing counts the points that are shown, so that it looks alike on short and long runs.
    """
    pairs = thinned(list(zip(axis_values(points, axis), (point.value for point in points), strict=True)))
    values = smoothed([value for _, value in pairs], smoothing)
    return [
        [x, float(f"{y:.5g}") if math.isfinite(y) and (y > 0 or not log) else None]
        for (x, _), y in zip(pairs, values, strict=True)
    ]


def points_text(points: Sequence[Sequence[float | None]]) -> str:
    """Points as one string, for an option whose name begins with a colon: the browser reads it as JavaScript.

    As lists they would be watched for changes one by one, which costs more than all the rest of a chart.
    """
    return json.dumps(points, separators=(",", ":"), allow_nan=False)


@dataclass(frozen=True)
class Line:
    """A named line of a chart."""

    name: str
    points: list[list[float | None]]


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
                ":data": points_text(line.points),
                "showSymbol": False,
                "lineStyle": {"width": 2},
            }
            for line in lines
        ],
    }
