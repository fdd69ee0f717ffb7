"""Games: every kept game, filtered, on a board, and as a file to take away."""

from collections import Counter
from typing import Any, Final
from urllib.parse import quote

from nicegui import ui
from nicegui.binding import bindable_dataclass
from nicegui.events import GenericEventArguments

from keisei.record.journal_reader import Entry
from keisei.record.journal_schema import Game
from keisei.shogi._native import MAX_PLY
from keisei.web.game_viewer import GameViewer
from keisei.web.kept_games import FORMATS, GameFilter
from keisei.web.layout import REFRESH_SECONDS, download_link, note
from keisei.web.visit import Visit

#: More rows than anybody scrolls through; the filter finds the rest.
MAX_ROWS: Final = 300
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


def build(visit: Visit) -> None:
    """Fill the page."""
    feed = visit.feed()
    wishes = _Wishes()
    with ui.element("div").classes("k-split"):
        viewer = GameViewer(visit, autoplay=False)
        with ui.element("div").classes("k-card"):
            title = ui.label("Moves").classes("k-title")
            links = ui.element("div").classes("k-row")
            viewer.moves_list()
    listing = ui.element("div").classes("k-card")
    with listing:
        controls = ui.element("div").classes("k-row")
        summary = note("")
        table = ui.table(rows=[], columns=_COLUMNS, row_key="game", pagination=10)
        table.add_slot("body-cell-game", _OPEN_CELL)
    seen = -1

    def fill() -> None:
        found = wishes.filter().select(feed.games)
        table.rows = [_row(entry) for entry in found[-MAX_ROWS:][::-1]]
        summary.set_text(_summary(found))

    def open_game(row: int) -> None:
        entry = feed.game(row)
        if entry is None:
            return
        title.set_text(f"Game {row}, update {entry.update}")
        viewer.open(entry.content)
        links.clear()
        with links:
            for name in FORMATS:
                download_link(name.upper(), f"/files/{quote(visit.run or '', safe='')}/games/{row}.{name}")

    def opened(event: GenericEventArguments) -> None:
        if isinstance(event.args, int):
            open_game(event.args)

    def refresh() -> None:
        nonlocal seen
        if feed.look() != seen:
            seen = feed.version
            fill()
            if viewer.game is None and feed.games:
                open_game(feed.games[-1].row)

    with controls:
        _controls(sorted({entry.content.reason for entry in feed.games}), wishes, fill)
    table.on("open", opened)
    refresh()
    ui.timer(REFRESH_SECONDS, refresh)


def _controls(reasons: list[str], wishes: _Wishes, fill: Any) -> None:
    with ui.element("div").classes("k-row"):
        for name, options in (("result", [ANY, "black", "white", "draw"]), ("reason", [ANY, *reasons])):
            select = ui.select(options, label=name, on_change=fill).bind_value(wishes, name)
            select.props("dense").classes("w-36")
        ui.input("player", on_change=fill).bind_value(wishes, "player").props("dense clearable").classes(
            "w-36"
        )
        for name, label in (("least", "plies from"), ("most", "to")):
            ui.number(label, min=0, on_change=fill).bind_value(wishes, name).props("dense").classes("w-24")


def _row(entry: Entry[Game]) -> dict[str, Any]:
    game = entry.content
    return {
        "game": entry.row,
        "update": entry.update,
        "plies": len(game.moves),
        "winner": game.winner or "draw",
        "reason": game.reason.replace("_", " "),
        "players": game.black if game.black == game.white else f"{game.black} – {game.white}",
    }


def _summary(found: list[Entry[Game]]) -> str:
    if not found:
        return "No kept game passes this filter."
    results = Counter(entry.content.winner or "draw" for entry in found)
    reasons = Counter(entry.content.reason.replace("_", " ") for entry in found)
    shown = (
        f"the newest {MAX_ROWS} of {len(found):,} games" if len(found) > MAX_ROWS else f"{len(found):,} games"
    )
    by_result = ", ".join(f"{name} {count}" for name, count in results.most_common())
    by_reason = ", ".join(f"{name} {count}" for name, count in reasons.most_common())
    return f"{shown} · {by_result} · {by_reason}"
