"""Learning: the curves of a run, alone or beside other runs."""

from dataclasses import field
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote

from nicegui import ui
from nicegui.binding import bindable_dataclass

from keisei.web.curves import AXES, CATALOGUE, Axis, Curve, Line, chart, line_points
from keisei.web.layout import REFRESH_SECONDS, card, download_link, note
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
    choices = _Choices()
    recorded = set(visit.feed().latest)
    shown = [curve for curve in CATALOGUE if recorded & set(curve.metrics)]
    charts: list[tuple[Curve, ui.echart]] = []
    seen: list[int] = []

    def draw() -> None:
        for curve, place in charts:
            place.options.clear()
            place.options.update(_options(visit, curve, choices))
            place.update()

    def refresh() -> None:
        versions = [visit.library.feed(name).version for name in _runs(visit, choices)]
        if versions != seen:
            seen[:] = versions
            draw()

    _controls(visit, choices, draw)
    if not shown:
        note("No update has ended yet; the curves begin with the first. Reload this page then.")
    with ui.element("div").classes("k-grid"):
        for curve in shown:
            with card(curve.title):
                charts.append((curve, ui.echart(_options(visit, curve, choices)).classes("k-chart")))
                charts[-1][1].props["aria-label"] = curve.title
                note(f"Good: {curve.good}")
    seen[:] = [visit.feed().version]
    ui.timer(REFRESH_SECONDS, refresh)


def _controls(visit: Visit, choices: _Choices, draw: Any) -> None:
    others = [name for name in visit.library.names() if name != visit.run]
    with ui.element("div").classes("k-card"), ui.element("div").classes("k-row"):
        ui.label("smoothing")
        slider = ui.slider(min=0, max=MAX_SMOOTHING, step=SMOOTHING_STEP, on_change=draw)
        slider.bind_value(choices, "smoothing").props('aria-label="Smoothing" label').classes("w-40")
        ui.switch("log scale", on_change=draw).bind_value(choices, "log")
        ui.select(list(AXES), label="axis", on_change=draw).bind_value(choices, "axis").props(
            "dense"
        ).classes("w-28")
        if others:
            select = ui.select(others, multiple=True, label="compare with", on_change=draw)
            select.bind_value(choices, "others").props("dense use-chips").classes("w-56")
        download_link("Download CSV", f"/files/{quote(visit.run or '', safe='')}/metrics.csv")


def _runs(visit: Visit, choices: _Choices) -> list[str]:
    return [visit.run or "", *choices.others]


def _options(visit: Visit, curve: Curve, choices: _Choices) -> dict[str, Any]:
    lines = []
    for run in _runs(visit, choices):
        feed = visit.library.feed(run)
        for metric, label in curve.metrics.items():
            data = _points(feed, feed.version, metric, choices.axis, choices.smoothing, choices.log)
            if data:
                lines.append(Line(_line_name(run, label, curve, choices), data))
    return chart(lines, choices.axis, log=choices.log, dark=visit.dark)


def _line_name(run: str, label: str, curve: Curve, choices: _Choices) -> str:
    if not choices.others:
        return label
    return run if len(curve.metrics) == 1 else f"{run}: {label}"


@lru_cache(maxsize=1024)
def _points(
    feed: RunFeed, _version: int, metric: str, axis: Axis, smoothing: float, log: bool
) -> list[list[float | None]]:
    """The points of a line, made once for all visitors who look at the same."""
    return line_points(feed.series(metric), axis, smoothing, log=log)
