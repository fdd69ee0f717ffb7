"""Workers: what each worker process does, how full the way to the learner is, and how old the rows are."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from nicegui import ui

from keisei.web.curves import COLOURS, Curve, Line, chart
from keisei.web.growing_line import growing_line
from keisei.web.layout import card, note, on_news, tile
from keisei.web.line_charts import Frame, LineCharts, draw
from keisei.web.run_feed import RunFeed
from keisei.web.visit import Visit
from keisei.web.worker_table import lag_shares, worker_rows

SMOOTHING: Final = 0.3
_TILES: Final[dict[str, tuple[str, Callable[[float], str]]]] = {
    "workers": ("at work", lambda value: f"{value:.0f}"),
    "worker_plies_per_second": ("plies/s", lambda value: f"{value:,.0f}"),
    "worker_utilisation": ("busy", lambda value: f"{value:.0%}"),
    "worker_memory_mib": ("memory", lambda value: f"{value:,.0f} MiB"),
    "worker_restarts": ("restarts", lambda value: f"{value:.0f}"),
    "slots_waiting": ("rollouts waiting", lambda value: f"{value:.0f}"),
    "rows_lost": ("rows lost", lambda value: f"{value:,.0f}"),
    "rows_refused": ("rows refused", lambda value: f"{value:,.0f}"),
    "sync_seconds": ("weights sent in", lambda value: f"{1000 * value:.1f} ms"),
    "policy_lag": ("policy lag", lambda value: f"{value:.0f}"),
}
_CURVES: Final = (
    Curve("Speed", {"worker_plies_per_second": "plies/s"}, "Level, and close to the trainer's own plies/s."),
    Curve(
        "Busy share",
        {"worker_utilisation": "busy"},
        "Near 1 when playing is the bottleneck; low means that the workers wait for the learner.",
    ),
    Curve("Rollouts waiting", {"slots_waiting": "slots"}, "Small: the learner keeps up with what is played."),
    Curve(
        "Restarts", {"worker_restarts": "restarts"}, "Flat. Each step is a worker that died and was replaced."
    ),
    Curve("Memory", {"worker_memory_mib": "MiB"}, "Flat after the first minutes."),
)
_COLUMNS: Final[list[dict[str, Any]]] = [
    {"name": name, "label": label, "field": name, "align": "left" if name in ("worker", "state") else "right"}
    for name, label in (
        ("worker", "worker"),
        ("state", "state"),
        ("speed", "plies/s"),
        ("busy", "busy"),
        ("waiting", "back-pressure"),
        ("restarts", "restarts"),
        ("heartbeat", "heartbeat"),
        ("lag", "lag"),
        ("slots", "rollouts"),
        ("memory", "memory"),
    )
]


def build(visit: Visit) -> None:
    """Fill the page."""
    feed = visit.feed()
    if not feed.figure("workers"):
        with card("No worker processes"):
            note("This run plays in the trainer's own process: nothing to show here.")
        return
    with ui.element("div").classes("k-tiles"):
        tiles = {name: tile(title) for name, (title, _) in _TILES.items()}
    with card("Each worker"):
        table = ui.table(rows=[], columns=_COLUMNS, row_key="worker")
        queue = note("")
        note("Back-pressure is the share of its life that a worker has waited for a slot or for weights.")
    charts = LineCharts()
    with ui.element("div").classes("k-grid"):
        with card("Rows by policy lag"):
            lags = ui.echart({}).classes("k-chart")
            note("Good: nearly all rows at 0 or 1: they were played with fresh weights.")
        for curve in _CURVES:
            with card(curve.title):
                charts.add(curve.title)
                note(f"Good: {curve.good}")

    def refresh() -> None:
        for name, (_, words) in _TILES.items():
            value = feed.figure(name)
            tiles[name].set_text("–" if value is None else words(value))
        charts.show({curve.title: _lines(feed, curve) for curve in _CURVES}, Frame("updates", visit.dark))
        state = feed.state("workers")
        content = {} if state is None else state.content
        table.rows = worker_rows(content)
        queue.set_text("" if state is None else f"As of update {state.update}: {_queue_words(content)}")
        options = _lag_options(content, dark=visit.dark)
        if options != lags.options:
            draw(lags, options)

    refresh()
    on_news(feed, refresh)


def _lines(feed: RunFeed, curve: Curve) -> list[Line]:
    return [
        Line(label, growing_line(feed, name, "updates", SMOOTHING, False).text(feed.series(name)))
        for name, label in curve.metrics.items()
    ]


def _queue_words(state: Mapping[str, Any]) -> str:
    queue = state.get("queue_info")
    if not isinstance(queue, dict):
        return "no slots."
    counts = ", ".join(f"{count} {name}" for name, count in queue.items())
    return f"slots {counts}."


def _lag_options(state: Mapping[str, Any], *, dark: bool | None) -> dict[str, Any]:
    """Bars: the share of rows at each lag."""
    shares = lag_shares(state)
    options = chart([], "versions", log=False, dark=dark)
    options["xAxis"] |= {"type": "category", "data": [str(lag) for lag in shares]}
    options["yAxis"] |= {"min": 0, "max": 1, "scale": False}
    values = [round(share, 4) for share in shares.values()]
    options["series"] = [
        {"type": "bar", "name": "share of rows", "data": values, "color": COLOURS[0], "barMaxWidth": 44}
    ]
    return options
