"""Openings: the tree of what the network plays, and how it changed during the run."""

from typing import Any, Final

from nicegui import ui
from nicegui.events import GenericEventArguments

from keisei.shogi.board_svg import Arrow
from keisei.shogi.game import ShogiGame
from keisei.shogi.move import Move
from keisei.web.board_picture import picture
from keisei.web.layout import REFRESH_SECONDS, card, note
from keisei.web.opening_tree import Continuation, continuations
from keisei.web.visit import Visit

ARROWS: Final = 5
_COLUMNS: Final[list[dict[str, Any]]] = [
    {"name": name, "label": label, "field": name, "align": "left" if name == "move" else "right"}
    for name, label in (
        ("move", "move"),
        ("games", "games"),
        ("share", "share"),
        ("score", "Black scores"),
        ("change", "earlier → later half"),
    )
]
_MOVE_CELL: Final = """
<q-td :props="props"><q-btn dense flat no-caps color="primary" :label="props.row.move"
  :aria-label="'Play ' + props.row.move" @click="$parent.$emit('descend', props.row.move)" /></q-td>
"""


def build(visit: Visit) -> None:
    """Fill the page."""
    feed = visit.feed()
    line: list[str] = []
    with ui.element("div").classes("k-split"):
        with ui.element("div").classes("k-card"):
            board = ui.html(sanitize=False).classes("k-board")
        with card("What it plays"):
            path = note("")
            with ui.element("div").classes("k-row"):
                back = ui.button("back", icon="undo", on_click=lambda: go_back(1)).props("flat no-caps")
                start = ui.button("start", icon="first_page", on_click=lambda: go_back(len(line)))
                start.props("flat no-caps")
            table = ui.table(rows=[], columns=_COLUMNS, row_key="move", pagination=12)
            table.add_slot("body-cell-move", _MOVE_CELL)
            note(
                "From kept games that begin at the standard position; arrows are as wide as moves are frequent."
            )
    seen = -1

    def show() -> None:
        found = continuations(feed.games, tuple(line))
        board.set_content(picture(_position(line), visit, arrows=[_arrow(move) for move in found[:ARROWS]]))
        path.set_text(" ".join(line) or "Start position")
        table.rows = [_row(move) for move in found]
        back.set_enabled(bool(line))
        start.set_enabled(bool(line))

    def go_back(plies: int) -> None:
        del line[len(line) - plies :]
        show()

    def descend(event: GenericEventArguments) -> None:
        if any(move.usi == event.args for move in continuations(feed.games, tuple(line))):
            line.append(event.args)
            show()

    def refresh() -> None:
        nonlocal seen
        if feed.look() != seen:
            seen = feed.version
            show()

    table.on("descend", descend)
    refresh()
    ui.timer(REFRESH_SECONDS, refresh)


def _position(line: list[str]) -> ShogiGame:
    game = ShogiGame()
    for usi in line:
        game.play(usi)
    return game


def _arrow(move: Continuation) -> Arrow:
    parsed = Move.from_usi(move.usi)
    return Arrow(parsed.from_square, parsed.to_square, move.share, f"{move.share:.0%}", parsed.drop_type)


def _row(move: Continuation) -> dict[str, Any]:
    return {
        "move": move.usi,
        "games": move.games,
        "share": f"{move.share:.0%}",
        "score": f"{move.black_score:.0%}",
        "change": f"{move.early_share:.0%} → {move.late_share:.0%}",
    }
