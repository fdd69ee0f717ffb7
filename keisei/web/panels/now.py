"""Now: how the run is doing, and games of self-play to watch while they are played."""

import time
from typing import Final

from nicegui import ui

from keisei.record.console import Health
from keisei.record.journal_reader import Entry
from keisei.record.journal_schema import Event
from keisei.web.films import frame_picture
from keisei.web.game_viewer import GameViewer, stage
from keisei.web.layout import card, note, on_news, tile
from keisei.web.live_boards import STEP_SECONDS, LiveBoard
from keisei.web.run_feed import RunFeed
from keisei.web.run_header import header_figures, health
from keisei.web.visit import Visit

EVENTS: Final = 5
#: Steps of the boards between two looks at figures that change by themselves: the age of the last update, memory.
FIGURE_STEPS: Final = 2
#: Small boards are for a glance, and take turns; the large one shows every ply.
THUMBNAIL_STEPS: Final = 4


def build(visit: Visit) -> None:
    """Fill the page."""
    feed = visit.feed()
    light = _HealthLight(feed)
    figures = _Figures(feed)
    table = _LiveTable(visit, feed)
    with card("Events"):
        events = _Events()

    def refresh() -> None:
        figures.show()
        light.show()
        events.show(feed.events[-EVENTS:])

    def step() -> None:
        if table.step() % FIGURE_STEPS == 0:
            figures.show()
            light.show()  # a trainer that has fallen silent brings no news

    refresh()
    step()
    on_news(feed, refresh)
    ui.timer(STEP_SECONDS, step)


class _Figures:
    """The tiles of the header."""

    def __init__(self, feed: RunFeed) -> None:
        self._feed = feed
        self._shown: dict[str, str] = {}
        with ui.element("div").classes("k-tiles"):
            self._tiles = {title: tile(title) for title in header_figures(feed)}

    def show(self) -> None:
        for title, text in header_figures(self._feed).items():
            if text != self._shown.get(title):
                self._shown[title] = text
                self._tiles[title].set_text(text)


class _Events:
    """The newest events, the last one on top."""

    def __init__(self) -> None:
        self._place = ui.column().classes("gap-1")
        self._shown: list[Entry[Event]] | None = None

    def show(self, entries: list[Entry[Event]]) -> None:
        if entries == self._shown:
            return
        self._shown = entries
        self._place.clear()
        with self._place:
            for entry in reversed(entries):
                note(f"update {entry.update}: {entry.content.message}")
            if not entries:
                note("Nothing out of the ordinary has happened.")


class _HealthLight:
    """A coloured dot beside words, so that nobody needs to see the colour."""

    def __init__(self, feed: RunFeed) -> None:
        self._feed = feed
        self._shown: Health | None = None
        with (
            ui.element("div").classes("k-card"),
            ui.element("div").classes("k-health").props('role="status"'),
        ):
            self._dot = ui.element("span").classes("k-dot")
            self._words = ui.label()

    def show(self) -> None:
        state = health(self._feed)
        if state != self._shown:
            self._shown = state
            self._dot.classes(replace=f"k-dot {state.level}")
            self._words.set_text(f"{state.level}: {state.words}")


class _LiveTable:
    """A large board that follows one of the watched games, and small ones of all of them to choose from."""

    def __init__(self, visit: Visit, feed: RunFeed) -> None:
        self._visit = visit
        self._feed = feed
        self._chosen: int | None = None
        self._steps = 0
        self._thumbnails: dict[int, ui.html] = {}
        self._drawn: set[int] = set()
        with ui.element("div").classes("k-split"):
            self._viewer = GameViewer(
                visit, "follow the game", is_playing=True, empty="The first game to watch comes soon."
            )
            with card("Games in play"):
                note("Choose one to follow it; scrubbing pauses. The bar shows Black's chance to win.")
                self._place = ui.element("div").classes("k-thumbs")

    def step(self) -> int:
        """Show the next ply where it is time; returns which step this is."""
        live = self._feed.live
        live.step(time.monotonic())
        self._add_thumbnails(live.boards)
        if self._chosen is None and live.boards:
            self._choose(min(live.boards))
        if self._viewer.is_playing and self._chosen is not None:
            self._follow(live.boards[self._chosen])
        for number, board in live.boards.items():
            if (self._steps + number) % THUMBNAIL_STEPS == 0 or number not in self._drawn:
                self._drawn.add(number)
                self._draw(self._thumbnails[number], board)
        self._steps += 1
        return self._steps

    def _add_thumbnails(self, boards: dict[int, LiveBoard]) -> None:
        for number in sorted(boards.keys() - self._thumbnails.keys()):
            with self._place:
                button = ui.html(sanitize=False, tag="button").classes("k-thumb")
            button.props["aria-label"] = f"Follow board {number + 1}"
            button.on("click", lambda number=number: self._choose(number))
            self._thumbnails[number] = button

    def _choose(self, number: int) -> None:
        self._chosen = number
        for other, button in self._thumbnails.items():
            button.props["aria-pressed"] = str(other == number).lower()
            button.update()
        self._viewer.play()
        self._follow(self._feed.live.boards[number])

    def _follow(self, board: LiveBoard) -> None:
        if board.game is None:
            return
        if board.game is not self._viewer.film:
            self._viewer.open(board.game, board.index)
        else:
            self._viewer.show(board.index)

    def _draw(self, button: ui.html, board: LiveBoard) -> None:
        frame = board.frame
        if board.game is not None and frame is not None:
            svg = frame_picture(frame, self._visit, board.game.players, with_arrows=False)
            button.set_content(stage(svg, frame.black_share))
