"""Now: how the run is doing, and the games it has just finished, played through on boards."""

from typing import Final

from nicegui import ui

from keisei.record.journal_reader import Entry
from keisei.record.journal_schema import Game
from keisei.web.board_picture import picture
from keisei.web.game_viewer import GameViewer
from keisei.web.kept_games import position_at, result_words
from keisei.web.layout import REFRESH_SECONDS, card, note, tile
from keisei.web.run_header import header_figures, health
from keisei.web.visit import Visit

THUMBNAILS: Final = 6
EVENTS: Final = 5


def build(visit: Visit) -> None:
    """Fill the page."""
    feed = visit.feed()
    light = _HealthLight()
    with ui.element("div").classes("k-tiles"):
        tiles = {title: tile(title) for title in header_figures(feed)}
    with ui.element("div").classes("k-split"):
        viewer = GameViewer(visit, autoplay=True)
        with ui.element("div").classes("k-card"):
            ui.label("Latest kept games").classes("k-title")
            hint = note("")
            thumbnails = _Thumbnails(visit, viewer)
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
        games = feed.games[-THUMBNAILS:][::-1]
        hint.set_text(
            "The newest first; choose one to see it on the large board."
            if games
            else "No game is kept yet; the first appear when games end."
        )
        thumbnails.show(games)
        if games and (viewer.game is None or viewer.is_at_end):
            viewer.open(games[0].content)
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


class _Thumbnails:
    """Final positions of the newest games; each opens its game on the large board."""

    def __init__(self, visit: Visit, viewer: GameViewer) -> None:
        self._visit = visit
        self._viewer = viewer
        self._rows: list[int] = []
        self._place = ui.element("div").classes("k-thumbs")

    def show(self, games: list[Entry[Game]]) -> None:
        """Draw them, unless they are there already."""
        rows = [entry.row for entry in games]
        if rows == self._rows:
            return
        self._rows = rows
        self._place.clear()
        with self._place:
            for entry in games:
                self._thumbnail(entry.content)

    def _thumbnail(self, game: Game) -> None:
        svg = picture(position_at(game, len(game.moves)), self._visit, names=(game.black, game.white))
        button = ui.html(svg, sanitize=False, tag="button").classes("k-thumb")
        button.props["aria-label"] = f"{len(game.moves)} plies, {result_words(game)}"
        button.on("click", lambda: self._viewer.open(game))
