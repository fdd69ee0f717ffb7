"""Now: how the run is doing, and games of self-play to watch while they are played."""

import time
from typing import Final

from nicegui import ui

from keisei.web.films import frame_picture
from keisei.web.game_viewer import GameViewer, stage
from keisei.web.layout import REFRESH_SECONDS, card, note, tile
from keisei.web.live_boards import STEP_SECONDS, LiveBoard
from keisei.web.run_feed import RunFeed
from keisei.web.run_header import header_figures, health
from keisei.web.visit import Visit

EVENTS: Final = 5
#: Small boards are for a glance; the large one shows every ply.
THUMBNAIL_STEPS: Final = 2


def build(visit: Visit) -> None:
    """Fill the page."""
    feed = visit.feed()
    light = _HealthLight()
    with ui.element("div").classes("k-tiles"):
        tiles = {title: tile(title) for title in header_figures(feed)}
    _LiveTable(visit, feed)
    with card("Events"):
        events = ui.column().classes("gap-1")
    seen = -1

    def refresh() -> None:
        nonlocal seen
        version = feed.look()
        for title, text in header_figures(feed).items():
            tiles[title].set_text(text)
        if version == seen:
            return
        seen = version
        light.show(*_words(visit))
        events.clear()
        with events:
            for entry in feed.events[-EVENTS:][::-1]:
                note(f"update {entry.update}: {entry.content.message}")
            if not feed.events:
                note("Nothing out of the ordinary has happened.")

    refresh()
    ui.timer(REFRESH_SECONDS, refresh)


def _words(visit: Visit) -> tuple[str, str]:
    state = health(visit.feed())
    return state.level, state.words


class _HealthLight:
    """A coloured dot beside words, so that nobody needs to see the colour."""

    def __init__(self) -> None:
        with (
            ui.element("div").classes("k-card"),
            ui.element("div").classes("k-health").props('role="status"'),
        ):
            self._dot = ui.element("span").classes("k-dot")
            self._words = ui.label()

    def show(self, level: str, words: str) -> None:
        self._dot.classes(replace=f"k-dot {level}")
        self._words.set_text(f"{level}: {words}")


class _LiveTable:
    """A large board that follows one of the watched games, and small ones of all of them to choose from."""

    def __init__(self, visit: Visit, feed: RunFeed) -> None:
        self._visit = visit
        self._feed = feed
        self._chosen: int | None = None
        self._steps = 0
        self._thumbnails: dict[int, ui.html] = {}
        with ui.element("div").classes("k-split"):
            self._viewer = GameViewer(
                visit, "follow the game", is_playing=True, empty="The first game to watch comes soon."
            )
            with card("Games in play"):
                note("Choose one to follow it; scrubbing pauses. The bar shows Black's chance to win.")
                self._place = ui.element("div").classes("k-thumbs")
        self._step()
        ui.timer(STEP_SECONDS, self._step)

    def _step(self) -> None:
        live = self._feed.live
        live.step(time.monotonic())
        self._add_thumbnails(live.boards)
        if self._chosen is None and live.boards:
            self._choose(min(live.boards))
        if self._viewer.is_playing and self._chosen is not None:
            self._follow(live.boards[self._chosen])
        if self._steps % THUMBNAIL_STEPS == 0:
            for number, board in live.boards.items():
                self._draw(self._thumbnails[number], board)
        self._steps += 1

    def _add_thumbnails(self, boards: dict[int, LiveBoard]) -> None:
        for number in sorted(boards.keys() - self._thumbnails.keys()):
            with self._place:
                button = ui.html(sanitize=False, tag="button").classes("k-thumb")
            button.props["aria-label"] = f"Follow board {number + 1}"
            button.on("click", lambda number=number: self._choose(number))
            self._thumbnails[number] = button
            self._steps = 0

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
        if board.game is not None:
            frame = board.game.frame(board.index)
            svg = frame_picture(frame, self._visit, board.game.players, with_arrows=False)
            button.set_content(stage(svg, frame.black_share))
