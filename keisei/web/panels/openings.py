"""Openings: the tree of what the network plays, and how it changed during the run."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from nicegui import ui
from nicegui.events import GenericEventArguments

from keisei.shogi.game import ShogiGame
from keisei.web.board_picture import picture
from keisei.web.films import arrow
from keisei.web.layout import card, note, on_news
from keisei.web.opening_tree import Continuation, continuations
from keisei.web.opponents import Opponents
from keisei.web.priors import NOBODY, Priors
from keisei.web.visit import Visit

ARROWS: Final = 5
#: Moves that were never played but that the network thinks of.
UNPLAYED: Final = 10
NONE: Final = "–"
_COLUMNS: Final[list[dict[str, Any]]] = [
    {"name": name, "label": label, "field": name, "align": "left" if name == "move" else "right"}
    for name, label in (
        ("move", "move"),
        ("games", "games"),
        ("share", "share"),
        ("score", "Black"),
        ("change", "early → late"),
        ("prior", "prior"),
        ("other", "compared"),
    )
]
#: Column and label of the two choices of checkpoints.
_PRIOR_COLUMNS: Final = {"prior": "prior of", "other": "compared with"}
_MOVE_CELL: Final = """
<q-td :props="props"><q-btn dense flat no-caps color="primary" :label="props.row.move"
  :aria-label="'Play ' + props.row.move" @click="$parent.$emit('descend', props.row.move)" /></q-td>
"""


def build(visit: Visit, opponents: Opponents) -> None:
    """Fill the page."""
    _OpeningsTable(visit, opponents)


class _OpeningsTable:
    """A board, the moves played from it, and what one or two checkpoints would play."""

    def __init__(self, visit: Visit, opponents: Opponents) -> None:
        self._visit = visit
        self._feed = visit.feed()
        self._line: list[str] = []
        self._seen = -1.0
        self._priors = {column: Priors(opponents, visit.run) for column in _PRIOR_COLUMNS}
        with ui.element("div").classes("k-split"):
            with ui.element("div").classes("k-card"):
                self._board = ui.html(sanitize=False).classes("k-board")
            with card("What it plays"):
                self._controls([NOBODY, *opponents.commands(visit.run)])
        for priors in self._priors.values():
            ui.context.client.on_delete(priors.leave)
        self._refresh()
        on_news(self._feed, self._refresh)

    def _controls(self, names: list[str]) -> None:
        self._path = note("")
        with ui.element("div").classes("k-row"):
            self._back = ui.button("back", icon="undo", on_click=lambda: self._go_back(1))
            self._start = ui.button(
                "start", icon="first_page", on_click=lambda: self._go_back(len(self._line))
            )
            for button in (self._back, self._start):
                button.props("flat no-caps")
        with ui.element("div").classes("k-row"):
            for column, label in _PRIOR_COLUMNS.items():
                choice = ui.select(names, value=NOBODY, label=label).props("dense options-dense")
                choice.classes("grow").on_value_change(
                    lambda event, column=column: self._choose(column, str(event.value))
                )
        self._problem = note("")
        self._table = ui.table(rows=[], columns=_COLUMNS, row_key="move", pagination=12).props("dense")
        self._table.add_slot("body-cell-move", _MOVE_CELL)
        self._table.on("descend", self._descend)
        note(
            "From kept games that begin at the standard position: how often, Black's score, and the share in the "
            "earlier and the later half of them. Arrows are as wide as moves are frequent."
        )

    def _refresh(self) -> None:
        newest = self._feed.games[-1].time if self._feed.games else 0.0
        if newest != self._seen:
            self._seen = newest
            self._show()

    def _show(self) -> None:
        found = continuations(self._feed.games, tuple(self._line))
        arrows = [arrow(move.usi, move.share) for move in found[:ARROWS]]
        self._board.set_content(picture(_position(self._line), self._visit, arrows=arrows))
        self._path.set_text(" ".join(self._line) or "Start position")
        self._table.rows = _rows(found, *(priors.of(self._line) for priors in self._priors.values()))
        self._back.set_enabled(bool(self._line))
        self._start.set_enabled(bool(self._line))

    async def _ask(self) -> None:
        """Show what is known at once, and what the checkpoints think when they have said it."""
        self._show()
        problems = [await priors.ask(tuple(self._line)) for priors in self._priors.values()]
        self._problem.set_text(" ".join(problems))
        self._show()

    async def _choose(self, column: str, name: str) -> None:
        await self._priors[column].choose(name)
        await self._ask()

    async def _go_back(self, plies: int) -> None:
        del self._line[len(self._line) - plies :]
        await self._ask()

    async def _descend(self, event: GenericEventArguments) -> None:
        # Only moves that stand in the table, whatever a browser sends.
        if event.args in [row["move"] for row in self._table.rows]:
            self._line.append(event.args)
            await self._ask()


def _position(line: list[str]) -> ShogiGame:
    game = ShogiGame()
    for usi in line:
        game.play(usi)
    return game


def _rows(
    found: Sequence[Continuation], prior: Mapping[str, float], other: Mapping[str, float]
) -> list[dict[str, Any]]:
    """What was played, most frequent first; behind it what would be, likeliest first."""
    played = {move.usi: move for move in found}
    thought_of = sorted(prior.keys() - played.keys(), key=lambda usi: -prior[usi])[:UNPLAYED]
    return [
        _row(usi, played.get(usi)) | {"prior": _percent(prior.get(usi)), "other": _percent(other.get(usi))}
        for usi in (*played, *thought_of)
    ]


def _percent(share: float | None) -> str:
    return NONE if share is None else f"{share:.1%}"


def _row(usi: str, move: Continuation | None) -> dict[str, Any]:
    if move is None:
        return {"move": usi, "games": 0, "share": NONE, "score": NONE, "change": NONE}
    return {
        "move": usi,
        "games": move.games,
        "share": f"{move.share:.0%}",
        "score": f"{move.black_score:.0%}",
        "change": f"{move.early_share:.0%} → {move.late_share:.0%}",
    }
