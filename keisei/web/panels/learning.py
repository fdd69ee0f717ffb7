"""Learning: the curves of a run, alone or beside other runs."""

from dataclasses import field
from typing import Final
from urllib.parse import quote

from nicegui import ui
from nicegui.binding import bindable_dataclass

from keisei.web.curves import AXES, CATALOGUE, Axis, Curve, Line
from keisei.web.growing_line import growing_line
from keisei.web.layout import card, download_link, note, on_news
from keisei.web.line_charts import Frame, LineCharts
from keisei.web.run_feed import RunFeed
from keisei.web.visit import Visit

MAX_SMOOTHING: Final = 0.98
SMOOTHING_STEP: Final = 0.02


@bindable_dataclass
class _Choices:
    """What the controls say; ``others`` are runs to compare with."""

    axis: Axis = "updates"
    smoothing: float = 0.6
    log: bool = False
    others: list[str] = field(default_factory=list)


def build(visit: Visit) -> None:
    """Fill the page."""
    _Curves(visit)


class _Curves:
    """The controls, and a chart for every curve of which something is recorded."""

    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        self._choices = _Choices()
        self._feeds: dict[str, RunFeed] = {}
        recorded = set(visit.feed().latest)
        self._curves = [curve for curve in CATALOGUE if recorded & set(curve.metrics)]
        self._charts = LineCharts()
        controls = ui.element("div").classes("k-card")
        if not self._curves:
            note("No update has ended yet; the curves begin with the first. Reload this page then.")
        with ui.element("div").classes("k-grid"):
            for curve in self._curves:
                with card(curve.title):
                    self._charts.add(curve.title)
                    note(f"Good: {curve.good}")
        with controls:  # last: they draw the charts as soon as they are there
            self._controls()
        self._show()

    def _controls(self) -> None:
        visit, choices = self._visit, self._choices
        others = [name for name in visit.library.names() if name != visit.run]
        with ui.element("div").classes("k-row"):
            ui.label("smoothing")
            slider = ui.slider(min=0, max=MAX_SMOOTHING, step=SMOOTHING_STEP, on_change=self._show)
            slider.bind_value(choices, "smoothing").props('aria-label="Smoothing" label').classes("w-40")
            ui.switch("log scale", on_change=self._show).bind_value(choices, "log")
            axis = ui.select(list(AXES), label="axis", on_change=self._show)
            axis.bind_value(choices, "axis").props("dense").classes("w-28")
            if others:
                select = ui.select(others, multiple=True, label="compare with", on_change=self._show)
                select.bind_value(choices, "others").props("dense use-chips").classes("w-56")
            download_link("Download CSV", f"/files/{quote(visit.run or '', safe='')}/metrics.csv")

    def _show(self) -> None:
        feeds = {name: self._feed(name) for name in (self._visit.run or "", *self._choices.others)}
        lines = {curve.title: _lines(feeds, curve, self._choices) for curve in self._curves}
        self._charts.show(lines, Frame(self._choices.axis, self._visit.dark, self._choices.log))

    def _feed(self, run: str) -> RunFeed:
        """The feed of a run, which is listened to from the first time on."""
        if run not in self._feeds:
            self._feeds[run] = self._visit.library.feed(run)
            on_news(self._feeds[run], self._show)
        return self._feeds[run]


def _lines(feeds: dict[str, RunFeed], curve: Curve, choices: _Choices) -> list[Line]:
    lines = []
    for run, feed in feeds.items():
        for metric, label in curve.metrics.items():
            points = feed.series(metric)
            if points:
                line = growing_line(feed, metric, choices.axis, choices.smoothing, choices.log)
                lines.append(Line(_line_name(run, label, curve, choices), line.text(points)))
    return lines


def _line_name(run: str, label: str, curve: Curve, choices: _Choices) -> str:
    if not choices.others:
        return label
    return run if len(curve.metrics) == 1 else f"{run}: {label}"
