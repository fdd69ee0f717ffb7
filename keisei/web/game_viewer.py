"""A board with a slider, buttons and a list of moves: how kept games are looked at."""

from collections.abc import Callable
from typing import Final

from nicegui import ui
from nicegui.events import GenericEventArguments

from keisei.record.journal_schema import Game
from keisei.shogi.game import ShogiGame
from keisei.web.board_picture import picture
from keisei.web.kept_games import moves_html, position_at, result_words
from keisei.web.visit import Visit

AUTOPLAY_SECONDS: Final = 0.8
_PLY_OF_CLICK: Final = (
    "(event) => { const b = event.target.closest('[data-ply]'); if (b) emit(b.dataset.ply) }"
)


class GameViewer:
    """Shows one game at a time; it can play it through by itself."""

    def __init__(self, visit: Visit, *, autoplay: bool) -> None:
        self._visit = visit
        self._game: Game | None = None
        self._ply = 0
        self._moves: ui.html | None = None
        with ui.element("div").classes("k-card"):
            self._board = ui.html(picture(ShogiGame(), visit), sanitize=False).classes("k-board")
            with ui.element("div").classes("k-row no-wrap"):
                self._slider = ui.slider(
                    min=0, max=1, value=0, on_change=lambda event: self.show(event.value)
                )
                self._slider.props('aria-label="Ply" label').classes("grow q-mx-sm")
                self._counter = ui.label().classes("k-note k-counter")
            with ui.element("div").classes("k-row"):
                self._button("first_page", "First position", lambda: self.show(0))
                self._button("chevron_left", "One move back", lambda: self.show(self._ply - 1))
                self._button("chevron_right", "One move on", lambda: self.show(self._ply + 1))
                self._button("last_page", "Last position", lambda: self.show(self._last))
                self._switch = ui.switch("play through", value=autoplay)
            self._caption = ui.label("No game has been kept yet.").classes("k-note")
        ui.timer(AUTOPLAY_SECONDS, self._advance)

    def moves_list(self) -> None:
        """Add the list of moves here."""
        self._moves = ui.html(sanitize=False).classes("k-moves")
        self._moves.on("click", self._clicked, js_handler=_PLY_OF_CLICK)

    @staticmethod
    def _button(icon: str, label: str, action: Callable[[], None]) -> None:
        ui.button(icon=icon, on_click=action).props(f'flat round dense aria-label="{label}"')

    @property
    def game(self) -> Game | None:
        """The game on the board."""
        return self._game

    @property
    def _last(self) -> int:
        return len(self._game.moves) if self._game else 0

    @property
    def is_at_end(self) -> bool:
        """Has the game been shown to its end, and may another one take its place?"""
        return self._switch.value and self._ply >= self._last

    def open(self, game: Game, ply: int = 0) -> None:
        """Put a game on the board."""
        self._game = game
        self._slider.props["max"] = max(self._last, 1)
        self._slider.update()
        self._caption.set_text(f"☗ {game.black} – ☖ {game.white}: {result_words(game)}")
        self._ply = -1
        self.show(ply)

    def show(self, ply: int) -> None:
        """Go to a ply; beyond the ends is the end."""
        ply = min(max(int(ply), 0), self._last)
        if self._game is None or ply == self._ply:
            return
        self._ply = ply
        names = (self._game.black, self._game.white)
        self._board.set_content(picture(position_at(self._game, ply), self._visit, names=names))
        self._counter.set_text(f"{ply} / {self._last}")
        self._slider.set_value(ply)
        if self._moves is not None:
            self._moves.set_content(moves_html(self._game, ply))

    def _clicked(self, event: GenericEventArguments) -> None:
        if isinstance(event.args, str) and event.args.isdecimal():
            self.show(int(event.args))

    def _advance(self) -> None:
        if self._switch.value:
            self.show(self._ply + 1)
