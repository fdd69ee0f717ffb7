"""Strength: how the run has scored against fixed opponents, with 95 % intervals."""

from typing import Any, Final

from nicegui import ui
from nicegui.binding import bindable_dataclass

from keisei.record.journal_reader import Entry
from keisei.record.journal_schema import Evaluation
from keisei.web.layout import REFRESH_SECONDS, card, note
from keisei.web.strength_chart import elo_words, last_of_each, strength_options
from keisei.web.visit import Visit

_COLUMNS: Final[list[dict[str, Any]]] = [
    {"name": name, "label": label, "field": name, "align": "left" if name == "opponent" else "right"}
    for name, label in (
        ("opponent", "opponent"),
        ("update", "at update"),
        ("score", "score"),
        ("interval", "95 % interval"),
        ("elo", "Elo difference"),
        ("games", "won / drawn / lost"),
    )
]


@bindable_dataclass
class _Choices:
    axis: str = "updates"


def build(visit: Visit) -> None:
    """Fill the page."""
    feed = visit.feed()
    choices = _Choices()
    empty = note("No match has been played yet: evaluation.interval_updates says when the first one comes.")
    body = ui.element("div").classes("w-full")
    with body, card("Score against fixed opponents"):
        axis = ui.select(["updates", "hours"], label="axis").bind_value(choices, "axis")
        axis.props("dense").classes("w-28")
        plot = ui.echart({}).classes("k-chart").style("height: 360px")
        note("Good: the curves rise one after the other; bars that do not overlap are a difference to trust.")
        table = ui.table(rows=[], columns=_COLUMNS, row_key="opponent")
    seen = -1

    def draw() -> None:
        matches = feed.evaluations
        empty.set_visibility(not matches)
        body.set_visibility(bool(matches))
        if matches:
            plot.options.clear()
            plot.options.update(strength_options(matches, choices.axis, dark=visit.dark))
            plot.update()
            table.rows = [_row(entry) for entry in last_of_each(matches)]

    def refresh() -> None:
        nonlocal seen
        if feed.look() != seen:
            seen = feed.version
            draw()

    axis.on_value_change(draw)
    refresh()
    ui.timer(REFRESH_SECONDS, refresh)


def _row(entry: Entry[Evaluation]) -> dict[str, Any]:
    result = entry.content
    return {
        "opponent": result.opponent,
        "update": entry.update,
        "score": f"{result.score:.1%}",
        "interval": f"{result.low:.1%} to {result.high:.1%}",
        "elo": f"{elo_words(result.score)} ({elo_words(result.low)} to {elo_words(result.high)})",
        "games": f"{result.wins} / {result.draws} / {result.losses}",
    }
