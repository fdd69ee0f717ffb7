"""What all panels share: the header with its links, cards, tiles, and the page shown while there is no run."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from nicegui import Event, ui

from keisei.web.run_feed import RunFeed
from keisei.web.visit import LOOKS, Look, Visit, look_cookie_script

STYLE_SHEET: Final = Path(__file__).with_name("page.css")
#: Panels by path, in the order of the header.
PANELS: Final = {
    "/": "Now",
    "/learning": "Learning",
    "/strength": "Strength",
    "/games": "Games",
    "/play": "Play",
    "/openings": "Openings",
    "/workers": "Workers",
}


def head(visit: Visit, path: str) -> None:
    """The style sheet and the header of a panel."""
    ui.add_css(STYLE_SHEET)
    ui.dark_mode(visit.dark)
    with ui.header(fixed=False).classes("k-header"):
        ui.label("形勢 Keisei").classes("k-brand")
        with ui.element("nav").classes("k-nav").props('aria-label="Panels"'):
            for target, title in PANELS.items():
                link = ui.link(title, visit.link(target))
                if target == path:
                    link.props('aria-current="page"')
        _run_choice(visit, path)
        _look_choice("theme", visit.theme)
        _look_choice("pieces", visit.pieces)


def _run_choice(visit: Visit, path: str) -> None:
    names = visit.library.names()
    if visit.run is not None:
        select = ui.select(names, value=visit.run, label="run").props("dense options-dense borderless")
        select.on_value_change(lambda event: ui.navigate.to(visit.link(path, event.value)))


def _look_choice(look: Look, value: str) -> None:
    select = (
        ui.select(list(LOOKS[look]), value=value, label=look)
        .props("dense options-dense borderless")
        .classes("k-look")
    )
    select.on_value_change(lambda event: ui.run_javascript(look_cookie_script(look, event.value)))


def on_news(feed: RunFeed, refresh: Callable[[], None]) -> None:
    """Have ``refresh`` called after every change of a run, as long as this visitor stays."""
    news = Event[[]]()  # it keeps what goes wrong in one panel away from the other visitors
    news.subscribe(refresh)
    feed.listeners.append(news.emit)
    ui.context.client.on_delete(lambda: feed.listeners.remove(news.emit))


def no_run(visit: Visit) -> None:
    """What to see while there is nothing to see."""
    with card("No run yet"):
        note(
            f"There is no run in {visit.library.folder}. Start one with `keisei train`, then reload this page; "
            "meanwhile, Play has a network that comes with Keisei."
        )


@contextmanager
def card(title: str = "") -> Iterator[None]:
    """A box with a title."""
    with ui.element("section").classes("k-card"):
        if title:
            ui.label(title).classes("k-title")
        yield


def note(text: str) -> ui.label:
    """A line of small print."""
    return ui.label(text).classes("k-note")


def tile(title: str) -> ui.label:
    """A small box with one figure; returns the label of the figure."""
    with ui.element("div").classes("k-tile"):
        ui.label(title).classes("k-note")
        return ui.label("–").classes("k-value")


def download_link(text: str, address: str) -> ui.element:
    """A link that saves what it leads to."""
    with ui.element("a").classes("k-link").props(f'href="{address}" download') as link:
        ui.label(text)
    return link
