"""A board with a value bar, a slider, buttons and a list of moves: how games are looked at."""

from collections.abc import Callable, Sequence
from html import escape
from typing import Final

from nicegui import ui
from nicegui.events import GenericEventArguments

from keisei.shogi.game import ShogiGame
from keisei.web.board_picture import picture
from keisei.web.films import Film, KeptFilm, frame_picture
from keisei.web.frames import Frame, black_share
from keisei.web.kept_games import moves_html
from keisei.web.visit import Visit
from keisei.web.win_graph import win_graph

_PLY_OF_CLICK: Final = (
    "(event) => { const b = event.target.closest('[data-ply]'); if (b) emit(b.dataset.ply) }"
)
#: Along the graph with the button held down: the share of its width.
_PLACE_IN_GRAPH: Final = """(event) => {
  if (event.type === 'pointermove' && event.buttons !== 1) return;
  const box = event.currentTarget.getBoundingClientRect();
  emit((event.clientX - box.left) / box.width);
}"""
GRAPH_THROTTLE_SECONDS: Final = 0.05


class GameViewer:
    """Shows one film at a time. Whoever scrubs has paused it."""

    def __init__(self, visit: Visit, switch: str, *, is_playing: bool, empty: str) -> None:
        self._visit = visit
        self._film: Film | None = None
        self._shares: Sequence[float | None] = ()
        self._index = 0
        self._last = 0
        self._moves: ui.html | None = None
        self._graph: ui.html | None = None
        with ui.element("div").classes("k-card"):
            self._board = ui.html(stage(picture(ShogiGame(), visit), None), sanitize=False).classes("k-board")
            self._thought = ui.label().classes("k-note k-thought")
            self._graph_place = ui.element("div").classes("w-full")
            with ui.element("div").classes("k-row no-wrap"):
                self._slider = ui.slider(min=0, max=1, value=0)
                # Only what the visitor does: a game that plays by itself moves the slider too.
                self._slider.on("update:model-value", self._slid)
                self._slider.props('aria-label="Ply" label').classes("grow q-mx-sm")
                self._counter = ui.label().classes("k-note k-counter")
            with ui.element("div").classes("k-row"):
                self._button("first_page", "First position", lambda: self.scrub(0))
                self._button("chevron_left", "One move back", lambda: self.scrub(self._index - 1))
                self._button("chevron_right", "One move on", lambda: self.scrub(self._index + 1))
                self._button("last_page", "Last position", lambda: self.scrub(self._last))
                self._switch = ui.switch(switch, value=is_playing)
            self._caption = ui.label(empty).classes("k-note")

    def moves_list(self) -> None:
        """Add the list of moves here."""
        self._moves = ui.html(sanitize=False).classes("k-moves")
        self._moves.on("click", self._clicked, js_handler=_PLY_OF_CLICK)

    def graph(self) -> None:
        """Show who is winning under the board."""
        with self._graph_place:
            self._graph = ui.html(sanitize=False).classes("k-graph")
        for name in ("pointerdown", "pointermove"):
            self._graph.on(name, self._pointed, js_handler=_PLACE_IN_GRAPH, throttle=GRAPH_THROTTLE_SECONDS)

    @staticmethod
    def _button(icon: str, label: str, action: Callable[[], None]) -> None:
        ui.button(icon=icon, on_click=action).props(f'flat round dense aria-label="{label}"')

    @property
    def film(self) -> Film | None:
        """What is on the board."""
        return self._film

    @property
    def index(self) -> int:
        """The frame that is shown."""
        return self._index

    @property
    def is_playing(self) -> bool:
        """Does the game move on by itself?"""
        return bool(self._switch.value)

    def open(self, film: Film, index: int = 0) -> None:
        """Put a game on the board."""
        self._film = film
        self._index = -1
        self._shares = _black_shares(film)
        self.show(index)

    def play(self) -> None:
        """Let the game move on by itself."""
        self._switch.set_value(True)

    def scrub(self, index: float) -> None:
        """Go to a frame by hand."""
        if self._film is not None and int(index) != self._index:
            self._switch.set_value(False)
            self.show(int(index))

    def advance(self) -> None:
        """Go on by a ply, if the game is playing."""
        if self.is_playing:
            self.show(self._index + 1)

    def show(self, index: int) -> None:
        """Go to a frame; beyond the ends is the end."""
        film = self._film
        if film is None:
            return
        last = film.last
        index = min(max(index, 0), last)
        if index == self._index and last == self._last:
            return
        self._index, self._last = index, last
        frame = film.frame(index)
        svg = frame_picture(frame, self._visit, film.players, with_arrows=True)
        self._board.set_content(stage(svg, frame.black_share))
        self._thought.set_text(_words(frame))
        self._caption.set_text(film.caption(index))
        self._counter.set_text(f"{index} / {last}")
        if self._slider.props.get("max") != max(last, 1):
            self._slider.props["max"] = max(last, 1)
            self._slider.update()
        self._slider.set_value(index)
        if self._moves is not None and isinstance(film, KeptFilm):
            self._moves.set_content(moves_html(film.game, index))
        if self._graph is not None:
            self._graph.set_visibility(any(share is not None for share in self._shares))
            self._graph.set_content(win_graph(self._shares, last, index))

    def _slid(self, event: GenericEventArguments) -> None:
        if isinstance(event.args, int | float):
            self.scrub(event.args)

    def _clicked(self, event: GenericEventArguments) -> None:
        if isinstance(event.args, str) and event.args.isdecimal():
            self.scrub(int(event.args))

    def _pointed(self, event: GenericEventArguments) -> None:
        if isinstance(event.args, int | float):
            self.scrub(round(min(max(event.args, 0.0), 1.0) * self._last))


def stage(svg: str, share: float | None) -> str:
    """A board with its value bar: Black's part of it from below."""
    if share is None:
        return f'<div class="k-stage"><div class="k-bar unknown"></div>{svg}</div>'
    label = f"Black's chance to win: {share:.0%}"
    return (
        f'<div class="k-stage"><div class="k-bar" role="img" aria-label="{label}" title="{escape(label)}">'
        f'<i style="height:{100 * share:.1f}%"></i></div>{svg}</div>'
    )


def _black_shares(film: Film) -> list[float | None]:
    if not isinstance(film, KeptFilm) or not film.thoughts:
        return []
    turns = (film.frame(0).position.turn, film.frame(min(1, film.last)).position.turn)
    return [black_share(thought, turns[ply % 2]) for ply, thought in enumerate(film.thoughts)]


def _words(frame: Frame) -> str:
    """What the network thinks, for people."""
    thought, share = frame.thought, frame.black_share
    if thought is None or share is None:
        return ""
    moves = ", ".join(f"{usi} {probability:.0%}" for usi, probability in thought.policy)
    return f"Black's chance {share:.0%}" + (f" · would play {moves}" if moves else "")
