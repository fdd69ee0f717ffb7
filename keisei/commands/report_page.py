"""The report of a run as one HTML page that needs nothing else: no script, no font, no request.

Every text from the run (names, events, settings) is escaped; a content security policy forbids what might slip in.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Final

from keisei.commands.report_charts import Line, Span, line_chart
from keisei.commands.report_facts import RunRecord, Setting
from keisei.commands.report_games import chosen_games, game_html
from keisei.record.figures import duration
from keisei.record.journal_reader import Entry, MetricPoint
from keisei.record.journal_schema import Evaluation, Event
from keisei.record.strength import RatedUpdate, rated_updates, strongest
from keisei.web.curves import CATALOGUE, Curve, smoothed, thinned

POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
SMOOTHING: Final = 0.6
#: Below this a smoothed line beside the points says nothing new.
LEAST_SMOOTHED: Final = 8
#: A few games bound a rating so loosely that the bars would flatten the curve.
FAR_ELO: Final = 1000.0
WHOLE_SCORE: Final = Span(0.0, 1.0)


def report_html(record: RunRecord) -> str:
    """The whole page."""
    title = escape(f"{record.name}, a run of Keisei")
    sections = [
        _header(record),
        _strength(record),
        _learning(record),
        _games(record),
        _events(record.events),
        _settings(record),
        _made_with(record),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{title}</title>\n<style>\n{_style()}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(filter(None, sections))
        + "\n</main>\n</body>\n</html>\n"
    )


def _style() -> str:
    return files("keisei.commands").joinpath("report.css").read_text(encoding="utf-8")


def _header(record: RunRecord) -> str:
    tiles = {
        "updates": f"{record.updates:,}",
        "plies": f"{record.plies:,}",
        "games": f"{record.games_played:,}",
        "time trained": duration(record.seconds),
        "plies/s over all": f"{record.plies / record.seconds:,.0f}" if record.seconds else "–",
        "strongest": _strongest(record),
    }
    figures = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>" for name, text in tiles.items()
    )
    return (
        f"<header><h1>{escape(record.name)}</h1>"
        f"<p>Begun {record.created:%Y-%m-%d %H:%M} UTC, this report made {record.made:%Y-%m-%d %H:%M} UTC. "
        f'{escape(record.state)}</p><dl class="tiles">{figures}</dl></header>'
    )


def _strongest(record: RunRecord) -> str:
    best = strongest(rated_updates(record.ratings))
    return "not rated" if best is None else f"{best.rating.elo:+.0f} Elo, update {best.update}"


# ---- strength


def _strength(record: RunRecord) -> str:
    if not record.evaluations and not record.ratings:
        return '<section><h2>Strength</h2><p class="note">It has not been measured.</p></section>'
    charts = []
    if rated := rated_updates(record.ratings):
        charts.append(_card("Rating", _rating_chart(rated), "Elo; random is 0. Bars are 95 % intervals."))
    if record.evaluations:
        lines = _score_lines(record.evaluations)
        picture = line_chart(lines, "Score against fixed opponents", "updates", WHOLE_SCORE)
        note = (
            "Points per game; a draw counts half. Bars are 95 % intervals; those that overlap may be chance."
        )
        charts.append(_card("Score against fixed opponents", picture, note, _legend(lines)))
    grid = f'<div class="grid">{"".join(charts)}</div>'
    return f"<section><h2>Strength</h2>{grid}{_score_table(record.evaluations)}</section>"


def _rating_chart(rated: Sequence[RatedUpdate]) -> str:
    points = [(float(each.update), each.rating.elo) for each in rated]
    bars = [_rating_bar(each) for each in rated if math.isfinite(each.rating.elo)]
    return line_chart([Line("rating", points, bars, has_dots=True)], "Rating", "updates")


def _rating_bar(each: RatedUpdate) -> tuple[float, float, float]:
    """The interval of a rating; a bound so far away that it says nothing counts as none."""
    rating = each.rating
    low = rating.low if rating.elo - rating.low <= FAR_ELO else -math.inf
    high = rating.high if rating.high - rating.elo <= FAR_ELO else math.inf
    return float(each.update), low, high


def _score_lines(evaluations: Sequence[Entry[Evaluation]]) -> list[Line]:
    opponents = dict.fromkeys(entry.content.opponent for entry in evaluations)
    return [
        Line(
            opponent,
            [(float(entry.update), entry.content.score) for entry in matches],
            [(float(entry.update), entry.content.low, entry.content.high) for entry in matches],
            colour=index,
            has_dots=True,
        )
        for index, opponent in enumerate(opponents)
        if (matches := [entry for entry in evaluations if entry.content.opponent == opponent])
    ]


def _score_table(evaluations: Sequence[Entry[Evaluation]]) -> str:
    if not evaluations:
        return ""
    newest = {entry.content.opponent: entry for entry in evaluations}
    rows = [
        (
            result.opponent,
            str(entry.update),
            f"{result.score:.1%}",
            f"{result.low:.1%} to {result.high:.1%}",
            f"{result.wins} / {result.draws} / {result.losses}",
        )
        for entry in newest.values()
        for result in [entry.content]
    ]
    return _table(("opponent", "at update", "score", "95 % interval", "won / drawn / lost"), rows)


# ---- learning


def _learning(record: RunRecord) -> str:
    cards = [
        _curve(curve, record.series)
        for curve in CATALOGUE
        if any(record.series.get(n) for n in curve.metrics)
    ]
    body = (
        f'<div class="grid">{"".join(cards)}</div>' if cards else '<p class="note">No update has ended.</p>'
    )
    return f"<section><h2>Learning</h2>{body}</section>"


def _curve(curve: Curve, series: Mapping[str, Sequence[MetricPoint]]) -> str:
    lines: list[Line] = []
    labels: list[Line] = []
    for colour, (metric, label) in enumerate(curve.metrics.items()):
        points = thinned([(float(point.plies), point.value) for point in series.get(metric, ())])
        if not points:
            continue
        is_smoothed = len(points) >= LEAST_SMOOTHED
        lines.append(Line(label, points, colour=colour, is_faint=is_smoothed))
        labels.append(lines[-1])
        if is_smoothed:
            means = smoothed([y for _, y in points], SMOOTHING)
            averaged = [(x, mean) for (x, _), mean in zip(points, means, strict=True)]
            lines.append(Line(label, averaged, colour=colour))
    picture = line_chart(lines, curve.title, "plies")
    return _card(curve.title, picture, f"Good: {curve.good}", _legend(labels) if len(labels) > 1 else "")


def _legend(lines: Iterable[Line]) -> str:
    items = "".join(f'<li class="c{line.colour}">{escape(line.name)}</li>' for line in lines)
    return f'<ul class="legend">{items}</ul>'


def _card(title: str, picture: str, note: str, legend: str = "") -> str:
    return (
        f'<figure class="card"><h3>{escape(title)}</h3>{legend}{picture}'
        f'<figcaption class="note">{escape(note)}</figcaption></figure>'
    )


# ---- games, events, settings


def _games(record: RunRecord) -> str:
    chosen = chosen_games(record.games)
    body = "\n".join(game_html(title, entry) for title, entry in chosen.items())
    return f"<section><h2>Games</h2>{body or '<p class=note>No game was kept.</p>'}</section>"


def _events(events: Sequence[Entry[Event]]) -> str:
    if not events:
        return ""
    rows = [
        (str(entry.update), entry.content.kind.replace("_", " "), entry.content.message) for entry in events
    ]
    return f"<section><h2>Events</h2>{_table(('update', 'kind', 'what'), rows)}</section>"


def _settings(record: RunRecord) -> str:
    changed = (
        _changed_table(record.changed) if record.changed else '<p class="note">All are the defaults.</p>'
    )
    if record.changed is None:
        changed = '<p class="note">This Keisei knows other settings than the one that trained the run.</p>'
    return (
        f"<section><h2>Settings</h2>{changed}"
        f"<details><summary>All settings</summary><pre>{escape(record.config_text)}</pre></details></section>"
    )


def _changed_table(changed: Sequence[Setting]) -> str:
    rows = [(setting.key, setting.value, setting.default) for setting in changed]
    return _table(("changed setting", "value", "default"), rows)


def _made_with(record: RunRecord) -> str:
    heading = "<section><h2>Versions and hardware</h2>"
    if not record.machine:
        return f'{heading}<p class="note">This run did not record them.</p></section>'
    return f"{heading}{_table(('', ''), record.machine.items())}</section>"


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    heading = f"<thead><tr>{head}</tr></thead>" if any(titles) else ""
    return f'<div class="scroll"><table>{heading}<tbody>{body}</tbody></table></div>'
