"""Match results as a chart with 95 % bars, and as rating differences."""

import math
from collections.abc import Sequence
from typing import Any, Final

from keisei.record.journal_reader import Entry
from keisei.record.journal_schema import Evaluation
from keisei.web.curves import COLOURS, SECONDS_PER_HOUR, chart, points_text

#: Elo's scale: ten times the odds are 400 points.
ELO_SCALE: Final = 400.0


def elo(score: float) -> float:
    """The rating difference that a score stands for; a clean sweep has none that is finite."""
    if score <= 0:
        return -math.inf
    return math.inf if score >= 1 else ELO_SCALE * math.log10(score / (1 - score))


def elo_words(score: float) -> str:
    """The rating difference as text."""
    value = elo(score)
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:+.0f}".replace("-", "−")


def last_of_each(entries: Sequence[Entry[Evaluation]]) -> list[Entry[Evaluation]]:
    """The newest match against every opponent, in the order of their first appearance."""
    return list({entry.content.opponent: entry for entry in entries}.values())


def strength_options(entries: Sequence[Entry[Evaluation]], axis: str, *, dark: bool | None) -> dict[str, Any]:
    """A line for every opponent; the bars are lines of two points with gaps between them."""
    options = chart([], axis, log=False, dark=dark)
    options["legend"]["show"] = True
    options["grid"]["top"] = 34
    options["yAxis"] |= {"min": 0, "max": 1, "scale": False}
    opponents = list(dict.fromkeys(entry.content.opponent for entry in entries))
    for index, opponent in enumerate(opponents):
        colour = COLOURS[index % len(COLOURS)]
        matches = [entry for entry in entries if entry.content.opponent == opponent]
        options["series"] += _series(opponent, colour, matches, axis, entries[0].time)
    return options


def _series(
    name: str, colour: str, matches: Sequence[Entry[Evaluation]], axis: str, began: float
) -> list[dict[str, Any]]:
    places = [(e.time - began) / SECONDS_PER_HOUR if axis == "hours" else e.update for e in matches]
    results = [entry.content for entry in matches]
    bars: list[list[float | None]] = []
    for place, result in zip(places, results, strict=True):
        bars += [[place, result.low], [place, result.high], [place, None]]
    common = {"type": "line", "name": name, "color": colour}
    scores = [[place, round(result.score, 4)] for place, result in zip(places, results, strict=True)]
    return [
        common | {":data": points_text(scores), "symbol": "circle", "symbolSize": 7},
        common
        | {
            ":data": points_text(bars),
            "symbol": "none",
            "lineStyle": {"width": 1.5, "opacity": 0.6},
            "silent": True,
            "tooltip": {"show": False},
        },
    ]
