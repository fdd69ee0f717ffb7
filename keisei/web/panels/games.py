"""Games: every kept game, filtered, on a board, and as a file to take away."""

from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote

from nicegui import ui
from nicegui.binding import bindable_dataclass
from nicegui.events import GenericEventArguments

from keisei.record.journal_reader import Entry
from keisei.record.journal_schema import Game, Thought
from keisei.shogi._native import MAX_PLY
from keisei.web.films import KeptFilm
from keisei.web.game_list import GameList, Leaf, reason_words, winner_words
from keisei.web.game_review import GameReview
from keisei.web.game_viewer import GameViewer
from keisei.web.kept_games import FORMATS, GameFilter
from keisei.web.layout import download_link, note, on_news
from keisei.web.live_boards import STEP_SECONDS
from keisei.web.opponents import Opponents
from keisei.web.visit import Visit

ANY: Final = "any"
_COLUMNS: Final[list[dict[str, Any]]] = [
    {"name": "game", "label": "game", "field": "game", "align": "left", "sortable": True},
    {"name": "update", "label": "update", "field": "update", "sortable": True},
    {"name": "plies", "label": "plies", "field": "plies", "sortable": True},
    {"name": "winner", "label": "winner", "field": "winner", "align": "left", "sortable": True},
    {"name": "reason", "label": "reason", "field": "reason", "align": "left", "sortable": True},
    {"name": "players", "label": "players", "field": "players", "align": "left"},
]
_OPEN_CELL: Final = """
<q-td :props="props"><q-btn dense flat no-caps color="primary" :label="'#' + props.row.game"
  :aria-label="'Open game ' + props.row.game" @click="$parent.$emit('open', props.row.game)" /></q-td>
"""


@bindable_dataclass
class _Wishes:
    """What the filter's controls say."""

    result: str = ANY
    reason: str = ANY
    player: str = ""
    least: float | None = None
    most: float | None = None

    def filter(self) -> GameFilter:
        return GameFilter(
            "" if self.result == ANY else self.result,
            "" if self.reason == ANY else self.reason,
            self.player or "",
            int(self.least or 0),
            int(self.most or MAX_PLY),
        )


def build(visit: Visit, opponents: Opponents) -> None:
    """Fill the page."""
    _GamesTable(visit, opponents)


class _GamesTable:
    """A viewer, the moves beside it, and the list of games below."""

    def __init__(self, visit: Visit, opponents: Opponents) -> None:
        self._visit = visit
        self._feed = visit.feed()
        self._wishes = _Wishes()
        self._list = GameList(self._wishes.filter())
        self._leaf = Leaf()
        with ui.element("div").classes("k-split"):
            self._viewer = GameViewer(
                visit, "play through", is_playing=False, empty="No game has been kept yet."
            )
            self._viewer.graph()
            with ui.element("div").classes("k-card"):
                self._title = ui.label("Moves").classes("k-title")
                self._links = ui.element("div").classes("k-row")
                self._review = GameReview(visit, opponents, self._shown_game, self._show_review)
                self._viewer.moves_list()
        with ui.element("div").classes("k-card"):
            controls = ui.element("div").classes("k-row")
            self._summary = note("")
            # Pages and orders are made here: a browser gets the rows that it shows, not all of them with every update.
            self._table = ui.table(rows=[], columns=_COLUMNS, row_key="game", pagination=self._leaf.rows)
            self._table.on("request", self._turn_to, ["pagination"])
            self._table.add_slot("body-cell-game", _OPEN_CELL)
            self._table.on("open", self._opened)
        with controls:  # last: they fill the table as soon as they are there
            self._controls()
        self._refresh()
        on_news(self._feed, self._refresh)
        ui.timer(STEP_SECONDS, self._viewer.advance)

    def _controls(self) -> None:
        reasons = sorted({entry.content.reason for entry in self._feed.games})
        for name, options in (("result", [ANY, "black", "white", "draw"]), ("reason", [ANY, *reasons])):
            select = ui.select(options, label=name, on_change=self._fill).bind_value(self._wishes, name)
            select.props("dense").classes("w-36")
        player = ui.input("player", on_change=self._fill).bind_value(self._wishes, "player")
        player.props("dense clearable").classes("w-36")
        for name, label in (("least", "plies from"), ("most", "to")):
            number = ui.number(label, min=0, on_change=self._fill).bind_value(self._wishes, name)
            number.props("dense").classes("w-24")

    def _refresh(self) -> None:
        self._show_leaf()
        if self._viewer.film is None and self._feed.games:
            self._open(self._feed.games[-1].row)

    def _fill(self) -> None:
        """Another filter."""
        self._list = GameList(self._wishes.filter())
        self._leaf = replace(self._leaf, page=1)
        self._show_leaf()

    def _turn_to(self, event: GenericEventArguments) -> None:
        self._leaf = Leaf.of(event.args.get("pagination") if isinstance(event.args, dict) else None)
        self._show_leaf()

    def _show_leaf(self) -> None:
        self._list.look(self._feed.games)
        rows = [_row(entry) for entry in self._list.leaf(self._leaf)]
        pagination = self._leaf.as_quasar(len(self._list))
        if rows != self._table.rows or pagination != self._table.pagination:
            self._table.rows = rows
            self._table.pagination = pagination
        self._summary.set_text(self._list.summary())

    def _opened(self, event: GenericEventArguments) -> None:
        if isinstance(event.args, int):
            self._open(event.args)

    def _open(self, row: int) -> None:
        entry = self._feed.game(row)
        if entry is None:
            return
        self._title.set_text(f"Game {row}, update {entry.update}")
        self._viewer.open(KeptFilm(entry.content, self._feed.thoughts(row)))
        self._review.clear()
        self._links.clear()
        with self._links:
            for name in FORMATS:
                address = f"/files/{quote(self._visit.run or '', safe='')}/games/{row}.{name}"
                download_link(name.upper(), address)

    def _shown_game(self) -> Game | None:
        film = self._viewer.film
        return film.game if isinstance(film, KeptFilm) else None

    def _show_review(self, game: Game, thoughts: list[Thought]) -> None:
        if self._shown_game() is game:
            self._viewer.open(KeptFilm(game, thoughts), self._viewer.index)


def _row(entry: Entry[Game]) -> dict[str, Any]:
    game = entry.content
    return {
        "game": entry.row,
        "update": entry.update,
        "plies": len(game.moves),
        "winner": winner_words(game),
        "reason": reason_words(game),
        "players": game.black if game.black == game.white else f"{game.black} – {game.white}",
    }
