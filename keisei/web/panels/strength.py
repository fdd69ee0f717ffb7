"""Strength: the rating of every measured checkpoint, its matches against fixed opponents, and the tsume exam."""

from collections.abc import Sequence
from typing import Any, Final, cast

from nicegui import ui
from nicegui.binding import bindable_dataclass

from keisei.record.journal_reader import Entry
from keisei.record.journal_schema import Evaluation
from keisei.record.strength import RatedUpdate, rated_updates, strongest
from keisei.web.curves import AXES, Axis
from keisei.web.layout import card, note, on_news
from keisei.web.line_charts import draw
from keisei.web.run_feed import RunFeed
from keisei.web.strength_chart import (
    cross_table,
    elo_words,
    exam_rows,
    last_of_each,
    match_score,
    places,
    rating_options,
    score_options,
)
from keisei.web.visit import Visit

CHART_STYLE: Final = "height: 320px"


@bindable_dataclass
class _Choices:
    axis: str = "plies"


def build(visit: Visit) -> None:
    """Fill the page."""
    _StrengthTable(visit, visit.feed())


class _StrengthTable:
    """Everything that the panel shows; what has nothing to show is hidden."""

    def __init__(self, visit: Visit, feed: RunFeed) -> None:
        self._visit = visit
        self._feed = feed
        self._choices = _Choices()
        self._seen: tuple[float, ...] = ()
        with ui.element("div").classes("k-card"):
            self._best = ui.label().classes("k-title")
            self._match = note("")
            axis = ui.select(list(AXES), label="axis").bind_value(self._choices, "axis")
            axis.props("dense").classes("w-28")
            axis.on_value_change(self._draw)
        with ui.element("div").classes("w-full") as self._rating_card, card("Rating of every checkpoint"):
            self._ratings = ui.echart({}).classes("k-chart").style(CHART_STYLE)
            note(
                "Elo, random is 0; bars are two standard errors (95 %). Good: bars climb clear of each other."
            )
        with ui.element("div").classes("w-full") as self._score_card, card("Score against fixed opponents"):
            self._scores = ui.echart({}).classes("k-chart").style(CHART_STYLE)
            note(
                "Good: the curves rise one after the other; bars that do not overlap are a difference to trust."
            )
            self._last = ui.table(rows=[], columns=_LAST_COLUMNS, row_key="opponent")
        with ui.element("div").classes("w-full") as self._cross_card, card("Cross table"):
            self._cross = ui.table(rows=[], columns=[], row_key="update", pagination=10)
        with card("Tsume exam"):
            note(
                "Mates in 1, 3 and 5 plies that the network begins rightly; `keisei tsume` adds to the table."
            )
            self._exam = ui.table(rows=[], columns=_EXAM_COLUMNS, row_key="update", pagination=5)
        self._refresh()
        on_news(feed, self._refresh)

    def _refresh(self) -> None:
        """Only a measurement changes the charts and tables, and most updates bring none."""
        feed = self._feed
        self._match.set_text(_match_words(feed))
        tables: tuple[Sequence[Entry[Any]], ...] = (feed.evaluations, feed.ratings, feed.exams)
        newest = tuple(table[-1].time if table else 0.0 for table in tables)
        if newest != self._seen:
            self._seen = newest
            self._draw()

    def _draw(self) -> None:
        feed, axis, dark = self._feed, cast(Axis, self._choices.axis), self._visit.dark
        matches, rated = feed.evaluations, rated_updates(feed.ratings)
        where = places(feed.series("plies_per_second"), axis)
        best = strongest(rated)
        self._best.set_text(_best_words(best, is_measured=bool(matches)))
        self._rating_card.set_visibility(bool(rated))
        self._score_card.set_visibility(bool(matches))
        self._cross_card.set_visibility(bool(matches))
        self._exam.set_visibility(bool(feed.exams))
        if rated:
            draw(self._ratings, rating_options(rated, where, axis, dark=dark))
        if matches:
            draw(self._scores, score_options(matches, where, axis, dark=dark))
            self._last.rows = [_row(entry) for entry in last_of_each(matches)]
        opponents, rows = cross_table(matches, rated)
        self._cross.columns = _columns({"update": "update", "rating": "rating", **{n: n for n in opponents}})
        self._cross.rows = rows
        self._exam.rows = exam_rows(feed.exams)


def _best_words(best: RatedUpdate | None, *, is_measured: bool) -> str:
    if best is not None:
        return f"Strongest with 95 % confidence: {best}".replace("-", "−")
    if is_measured:
        return "No checkpoint has a rating that is bounded from below yet."
    return "No match has been played yet: evaluation.interval_updates says when the first one comes."


def _match_words(feed: RunFeed) -> str:
    state = feed.state("evaluation")
    measuring = state.content.get("measuring") if state is not None else None
    if state is None or not isinstance(measuring, list) or not measuring or feed.facts.trainer_pid is None:
        return "No match is being played now."
    first, *waiting = measuring
    parts = [f"Now being measured: the network after update {first}", match_score(state.content.get("match"))]
    words = ", ".join(filter(None, parts))
    return f"{words}; update {waiting[0]} waits." if waiting else f"{words}."


def _columns(labels: dict[str, str], left: str = "") -> list[dict[str, Any]]:
    return [
        {"name": name, "label": label, "field": name, "align": "left" if name == left else "right"}
        for name, label in labels.items()
    ]


_LAST_COLUMNS: Final = _columns(
    {
        "opponent": "opponent",
        "update": "at update",
        "score": "score",
        "interval": "95 % interval",
        "elo": "Elo difference",
        "games": "won / drawn / lost",
    },
    left="opponent",
)
_EXAM_COLUMNS: Final = _columns(
    {"update": "update", "mate 1": "mate in 1", "mate 3": "mate in 3", "mate 5": "mate in 5"}
)


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
