"""Workers: what the worker processes do, from the figures that the trainer records about them."""

from collections.abc import Callable
from typing import Final

from nicegui import ui

from keisei.web.curves import Curve, Line, chart, line_points
from keisei.web.layout import REFRESH_SECONDS, card, note, tile
from keisei.web.visit import Visit

SMOOTHING: Final = 0.3
_TILES: Final[dict[str, tuple[str, Callable[[float], str]]]] = {
    "workers": ("at work", lambda value: f"{value:.0f}"),
    "worker_utilisation": ("busy", lambda value: f"{value:.0%}"),
    "worker_plies_per_second": ("plies/s", lambda value: f"{value:,.0f}"),
    "worker_memory_mib": ("memory", lambda value: f"{value:,.0f} MiB"),
    "worker_restarts": ("restarts", lambda value: f"{value:.0f}"),
    "slots_waiting": ("rollouts waiting", lambda value: f"{value:.0f}"),
    "rows_lost": ("rows lost", lambda value: f"{value:,.0f}"),
    "rows_refused": ("rows refused", lambda value: f"{value:,.0f}"),
    "sync_seconds": ("weights published in", lambda value: f"{1000 * value:.1f} ms"),
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
    Curve("Policy lag", {"policy_lag": "versions"}, "0 or 1: games are played with fresh weights."),
)


def build(visit: Visit) -> None:
    """Fill the page."""
    feed = visit.feed()
    if not feed.figure("workers"):
        with card("No worker processes"):
            note(
                "This run plays in the trainer's own process (parallel.num_workers is 0): nothing to show here."
            )
        return
    with ui.element("div").classes("k-tiles"):
        tiles = {name: tile(title) for name, (title, _) in _TILES.items()}
    plots: list[tuple[Curve, ui.echart]] = []
    with ui.element("div").classes("k-grid"):
        for curve in _CURVES:
            with card(curve.title):
                plots.append((curve, ui.echart({}).classes("k-chart")))
                note(f"Good: {curve.good}")
    seen = -1

    def refresh() -> None:
        nonlocal seen
        if feed.look() == seen:
            return
        seen = feed.version
        for name, (_, words) in _TILES.items():
            value = feed.figure(name)
            tiles[name].set_text("–" if value is None else words(value))
        for curve, plot in plots:
            lines = [
                Line(label, line_points(feed.series(name), "updates", SMOOTHING, log=False))
                for name, label in curve.metrics.items()
            ]
            plot.options.clear()
            plot.options.update(chart(lines, "updates", log=False, dark=visit.dark))
            plot.update()

    refresh()
    ui.timer(REFRESH_SECONDS, refresh)
