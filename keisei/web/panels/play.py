"""Play: a game against a checkpoint or any USI engine, by mouse, finger or keyboard."""

from typing import Final

from nicegui import ui
from nicegui.binding import bindable_dataclass

from keisei.errors import KeiseiError
from keisei.shogi.board_svg import Arrow
from keisei.shogi.notation.game_record import GameRecord
from keisei.shogi.records import write_record
from keisei.shogi.types import Color
from keisei.web.layout import card, note
from keisei.web.opponents import Opponents
from keisei.web.play_board import PlayBoard
from keisei.web.play_session import PlaySession, Question
from keisei.web.usi_process import Answer, Limit, UsiProcess
from keisei.web.visit import Visit

LIMITS: Final = {
    "0.2 s a move": Limit(0.2),
    "1 s a move": Limit(1.0),
    "5 s a move": Limit(5.0),
    "32 simulations": Limit(nodes=32),
    "400 simulations": Limit(nodes=400),
}
DEFAULT_LIMIT: Final = "1 s a move"
COLOURS: Final = {"black": "Black (first)", "white": "White"}
YOU: Final = "you"


@bindable_dataclass
class _Choices:
    opponent: str
    colour: str = "black"
    limit: str = DEFAULT_LIMIT


def build(visit: Visit, opponents: Opponents) -> None:
    """Fill the page."""
    table = _PlayTable(visit, opponents, list(opponents.commands(visit.run)))
    ui.context.client.on_delete(table.leave)


class _PlayTable:
    """One visitor's board, clockless, with the engine on the other side."""

    def __init__(self, visit: Visit, opponents: Opponents, names: list[str]) -> None:
        self._visit = visit
        self._opponents = opponents
        self._choices = _Choices(names[0])
        self._session = PlaySession()
        self._engine: UsiProcess | None = None
        self._is_busy = False
        self._game_number = 0
        with ui.element("div").classes("k-split"):
            with ui.element("div").classes("k-card"):
                self._board = PlayBoard(visit, self._click, self._drag)
            with card("Your game"):
                self._controls(names)
        self._promotion = ui.dialog().props("persistent")
        self._show()

    def _controls(self, names: list[str]) -> None:
        for field, options in (("opponent", names), ("colour", COLOURS), ("limit", list(LIMITS))):
            ui.select(options, label=field).bind_value(self._choices, field).props("dense").classes("w-full")
        ui.button("New game", icon="play_arrow", on_click=self._begin).props("no-caps unelevated")
        self._status = ui.label("Choose and press New game.").props('role="status" aria-live="polite"')
        with ui.element("div").classes("k-row"):
            self._undo = ui.button("Undo", icon="undo", on_click=self._take_back).props("flat no-caps")
            self._hint = ui.button("Hint", icon="lightbulb", on_click=self._ask_hint).props("flat no-caps")
            self._resign = ui.button("Resign", icon="flag", on_click=self._give_up).props("flat no-caps")
            self._save = ui.button("Save KIF", icon="download", on_click=self._save_game).props(
                "flat no-caps"
            )
        self._thoughts = note("")
        self._moves = note("")

    # ---- what is shown

    def _show(self, arrows: tuple[Arrow, ...] = ()) -> None:
        session = self._session
        opponent = self._engine.name if self._engine else self._choices.opponent
        players = (YOU, opponent) if session.human is Color.BLACK else (opponent, YOU)
        self._board.show(session, players, arrows)
        is_mine = self._engine is not None and session.is_humans_turn and not self._is_busy
        self._undo.set_enabled(self._engine is not None and bool(session.moves) and not self._is_busy)
        self._hint.set_enabled(is_mine)
        self._resign.set_enabled(is_mine)
        self._save.set_enabled(bool(session.moves))
        self._moves.set_text(" ".join(session.moves))

    def _say_turn(self) -> None:
        outcome = self._session.game.outcome
        if outcome is None:
            self._status.set_text("Your move." if self._session.is_humans_turn else "The opponent thinks …")
        elif outcome.winner is None:
            self._status.set_text(f"A draw: {outcome.reason.value.replace('_', ' ')}.")
        else:
            who = "You win" if outcome.winner is self._session.human else "You lose"
            self._status.set_text(f"{who}: {outcome.reason.value.replace('_', ' ')}.")

    # ---- what the visitor does

    async def _begin(self) -> None:
        await self.leave()
        self._game_number += 1
        number = self._game_number
        self._session = PlaySession(Color[self._choices.colour.upper()])
        self._thoughts.set_text("")
        self._status.set_text("Starting the engine …")
        self._show()
        try:
            engine = await self._opponents.start(self._visit.run, self._choices.opponent)
        except KeiseiError as error:
            self._status.set_text(str(error))
            return
        if number != self._game_number:
            await self._opponents.stop(engine)
            return
        self._engine = engine
        await self._go_on()

    async def _click(self, place: str) -> None:
        await self._act_on(self._session.choose(place) if self._may_move() else None)

    async def _drag(self, origin: str, target: str) -> None:
        await self._act_on(self._session.drag(origin, target) if self._may_move() else None)

    def _may_move(self) -> bool:
        return self._engine is not None and not self._is_busy

    async def _act_on(self, answer: str | Question | None) -> None:
        if isinstance(answer, Question):
            answer = await self._ask_promotion(answer)
        if answer is None:
            self._show()
            return
        self._session.play(answer)
        await self._go_on()

    async def _ask_promotion(self, question: Question) -> str | None:
        self._promotion.clear()
        with self._promotion, ui.card():
            ui.label("Promote?")
            with ui.row():
                yes = ui.button("Promote", on_click=lambda: self._promotion.submit(question.promoting))
                yes.props("autofocus no-caps")
                ui.button("Do not", on_click=lambda: self._promotion.submit(question.plain)).props(
                    "flat no-caps"
                )
        answer: str | None = await self._promotion
        return answer

    def _take_back(self) -> None:
        self._session.undo()
        self._thoughts.set_text("")
        self._say_turn()
        self._show()

    async def _ask_hint(self) -> None:
        answer = await self._think()
        if answer is None:
            return
        self._status.set_text(f"Hint: {answer.move}")
        legal = {move.usi: move for move in self._session.game.legal_moves()}
        if answer.move in legal:
            move = legal[answer.move]
            self._show((Arrow(move.from_square, move.to_square, 1.0, "", move.drop_type),))

    def _give_up(self) -> None:
        self._session.game.resign()
        self._say_turn()
        self._show()

    def _save_game(self) -> None:
        human_first = self._session.human is Color.BLACK
        opponent = self._engine.name if self._engine else ""
        black, white = (YOU, opponent) if human_first else (opponent, YOU)
        record = GameRecord.from_game(self._session.game, black=black, white=white)
        ui.download.content(write_record(record, "kif").encode("utf-8"), "keisei.kif")

    # ---- what the engine does

    async def _go_on(self) -> None:
        """Show the position; let the engine move when it is its turn."""
        self._say_turn()
        self._show()
        if self._session.game.outcome is not None or self._session.is_humans_turn:
            return
        answer = await self._think()
        if answer is None:
            return
        try:
            self._play_answer(answer)
        except KeiseiError as error:
            self._status.set_text(f"The engine broke the rules: {error}")
        else:
            self._say_turn()
        self._show()

    def _play_answer(self, answer: Answer) -> None:
        game = self._session.game
        if answer.move == "resign":
            game.resign()
        elif answer.move == "win":
            game.declare_win()
        else:
            self._session.play(answer.move)
        if answer.score:
            self._thoughts.set_text(
                f"The engine expects {answer.score} for itself: {' '.join(answer.line[:6])}"
            )

    async def _think(self) -> Answer | None:
        """The engine's answer for the side to move; None when it failed or the game was left meanwhile."""
        engine, number = self._engine, self._game_number
        if engine is None:
            return None
        self._is_busy = True
        self._show()
        try:
            answer = await engine.think(
                self._session.game.start_sfen, self._session.moves, LIMITS[self._choices.limit]
            )
        except KeiseiError as error:
            if number == self._game_number:
                self._status.set_text(str(error))
            return None
        finally:
            if number == self._game_number:
                self._is_busy = False
                self._show()
        return answer if number == self._game_number else None

    async def leave(self) -> None:
        """End the engine; its answer, if one is still under way, is for nobody."""
        self._game_number += 1
        self._is_busy = False
        engine, self._engine = self._engine, None
        if engine is not None:
            await self._opponents.stop(engine)
