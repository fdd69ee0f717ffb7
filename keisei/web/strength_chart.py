"""Measurements as charts with 95 % bars (two standard errors), and as tables."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from keisei.record.journal_reader import Entry, MetricPoint
from keisei.record.journal_schema import Evaluation, Exam
from keisei.record.strength import RatedUpdate
from keisei.web.curves import COLOURS, SECONDS_PER_HOUR, Axis, chart, points_text

#: Elo's scale: ten times the odds are 400 points.
ELO_SCALE: Final = 400.0
#: Rows of the cross table; older measurements are in the chart.
MAX_CROSS_ROWS: Final = 40
RATING_LINE: Final = "rating"


@dataclass(frozen=True)
class Measured:
    """A value on a chart with its interval; a bound that is not finite is not drawn."""

    place: float
    value: float
    low: float
    high: float


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


def places(points: Sequence[MetricPoint], axis: Axis) -> dict[int, float]:
    """Where each update lies on an axis; hours count from the first update."""
    if axis == "plies":
        return {point.update: point.plies for point in points}
    if axis == "hours":
        return {point.update: (point.time - points[0].time) / SECONDS_PER_HOUR for point in points}
    return {point.update: point.update for point in points}


def last_of_each(entries: Sequence[Entry[Evaluation]]) -> list[Entry[Evaluation]]:
    """The newest match against every opponent, in the order of their first appearance."""
    return list({entry.content.opponent: entry for entry in entries}.values())


def score_options(
    entries: Sequence[Entry[Evaluation]], where: Mapping[int, float], axis: Axis, *, dark: bool | None
) -> dict[str, Any]:
    """The score against every opponent."""
    lines: dict[str, list[Measured]] = {}
    for entry in entries:
        result = entry.content
        place = where.get(entry.update, 0.0)
        lines.setdefault(result.opponent, []).append(Measured(place, result.score, result.low, result.high))
    options = _options(lines, axis, dark=dark)
    options["yAxis"] |= {"min": 0, "max": 1, "scale": False}
    return options


def rating_options(
    rated: Sequence[RatedUpdate], where: Mapping[int, float], axis: Axis, *, dark: bool | None
) -> dict[str, Any]:
    """The rating of every checkpoint; one that won or lost everything stands at the bound that is known."""
    points = [
        Measured(where.get(each.update, 0.0), shown, each.rating.low, each.rating.high)
        for each in rated
        if (shown := _finite(each)) is not None
    ]
    options = _options({RATING_LINE: points}, axis, dark=dark)
    options["legend"]["show"] = False
    return options


def _finite(rated: RatedUpdate) -> float | None:
    rating = rated.rating
    return next((value for value in (rating.elo, rating.low, rating.high) if math.isfinite(value)), None)


def _options(lines: Mapping[str, list[Measured]], axis: Axis, *, dark: bool | None) -> dict[str, Any]:
    options = chart([], axis, log=False, dark=dark)
    options["legend"]["show"] = True
    options["grid"]["top"] = 34
    # Measurements are few, and a chart of one would have no width of its own.
    options["xAxis"]["min"] = 0
    for index, (name, points) in enumerate(lines.items()):
        options["series"] += _series(name, COLOURS[index % len(COLOURS)], points)
    return options


def _series(name: str, colour: str, points: Sequence[Measured]) -> list[dict[str, Any]]:
    """The line, and its bars: a line of two points each, with gaps between them."""
    bars: list[list[float | None]] = []
    for point in points:
        low, high = (bound if math.isfinite(bound) else point.value for bound in (point.low, point.high))
        bars += [[point.place, low], [point.place, high], [point.place, None]]
    values: list[list[float | None]] = [[point.place, round(point.value, 4)] for point in points]
    common = {"type": "line", "name": name, "color": colour}
    return [
        common | {":data": points_text(values), "symbol": "circle", "symbolSize": 7},
        common
        | {
            ":data": points_text(bars),
            "symbol": "none",
            "lineStyle": {"width": 1.5, "opacity": 0.6},
            "silent": True,
            "tooltip": {"show": False},
        },
    ]


# ---- words and tables


def match_score(match: object) -> str:
    """How far a match is, as the trainer recorded it; empty where that cannot be told."""
    if not isinstance(match, dict):
        return ""
    counts = [match.get(name) for name in ("wins", "draws", "losses", "planned")]
    wins, draws, losses, planned = (count if isinstance(count, int) else 0 for count in counts)
    played = wins + draws + losses
    if not 0 < played <= planned:
        return ""
    score = (wins + draws / 2) / played
    return (
        f"{played} of {planned} games against {match.get('opponent')}: {score:.1%} so far "
        f"({wins} won, {draws} drawn, {losses} lost)"
    )


def cross_table(
    entries: Sequence[Entry[Evaluation]], rated: Sequence[RatedUpdate]
) -> tuple[list[str], list[dict[str, Any]]]:
    """Opponents, and a row for each measured update, newest first: rating, and score (won/drawn/lost) by opponent."""
    opponents = list(dict.fromkeys(entry.content.opponent for entry in entries))
    ratings = {each.update: each for each in rated}
    rows: dict[int, dict[str, Any]] = {}
    for update in sorted({entry.update for entry in entries} | ratings.keys(), reverse=True)[:MAX_CROSS_ROWS]:
        rows[update] = {"update": update, "rating": rating_words(ratings.get(update))}
    for entry in entries:
        if entry.update in rows:
            result = entry.content
            counts = f"{result.wins}/{result.draws}/{result.losses}"
            rows[entry.update][result.opponent] = f"{result.score:.1%} ({counts})"
    return opponents, list(rows.values())


def rating_words(rated: RatedUpdate | None) -> str:
    """A rating with its interval, without the update."""
    return "–" if rated is None else str(rated).partition(" after ")[0].replace("-", "−")


def exam_rows(entries: Sequence[Entry[Exam]]) -> list[dict[str, Any]]:
    """A row for each update that sat the exam, newest first: the share solved by length of the mate."""
    rows: dict[int, dict[str, Any]] = {}
    for entry in entries:
        exam = entry.content
        share = f"{exam.solved / exam.problems:.1%} of {exam.problems}" if exam.problems else "–"
        rows.setdefault(entry.update, {"update": entry.update})[f"mate {exam.mate_plies}"] = share
    return [rows[update] for update in sorted(rows, reverse=True)]
