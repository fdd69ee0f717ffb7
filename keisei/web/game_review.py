"""A game reviewed by a checkpoint of the visitor's choice, where the trainer did not record what was thought."""

from collections.abc import Callable

from nicegui import ui

from keisei.errors import KeiseiError
from keisei.record.journal_schema import Game, Thought
from keisei.web.analyst import Analyst
from keisei.web.layout import note
from keisei.web.opponents import Opponents
from keisei.web.visit import Visit

#: Plies between two words on the progress.
PROGRESS_PLIES = 10


class GameReview:
    """A choice of checkpoints and a button; ``on_thoughts`` gets the game and what was thought of each ply."""

    def __init__(
        self,
        visit: Visit,
        opponents: Opponents,
        game: Callable[[], Game | None],
        on_thoughts: Callable[[Game, list[Thought]], None],
    ) -> None:
        self._visit = visit
        self._opponents = opponents
        self._game = game
        self._on_thoughts = on_thoughts
        self._analyst: Analyst | None = None
        names = list(opponents.commands(visit.run))
        with ui.element("div").classes("k-row") as place:
            self._select = ui.select(names, value=names[0], label="review by")
            self._select.props("dense options-dense").classes("grow")
            self._button = ui.button("Review", icon="insights", on_click=self._review).props("flat no-caps")
        self._status = note("")
        place.set_visibility(bool(names))
        ui.context.client.on_delete(self._dismiss)

    async def _review(self) -> None:
        game = self._game()
        if game is None or self._analyst is not None:
            return
        self._button.set_enabled(False)
        self._status.set_text("Starting the engine …")
        try:
            self._analyst = await Analyst.hire(self._opponents, self._visit.run, str(self._select.value))
            self._on_thoughts(game, await self._thoughts(self._analyst, game))
        except KeiseiError as error:
            self._status.set_text(str(error))
        else:
            self._status.set_text(f"Reviewed by {self._select.value}.")
        finally:
            await self._dismiss()
            self._button.set_enabled(True)

    async def _thoughts(self, analyst: Analyst, game: Game) -> list[Thought]:
        thoughts: list[Thought] = []
        async for thought in analyst.review(game):
            thoughts.append(thought)
            if len(thoughts) % PROGRESS_PLIES == 0:
                self._status.set_text(f"{len(thoughts)} of {len(game.moves)} plies …")
        return thoughts

    def clear(self) -> None:
        """Another game is on the board."""
        self._status.set_text("")

    async def _dismiss(self) -> None:
        analyst, self._analyst = self._analyst, None
        if analyst is not None:
            await analyst.leave()
