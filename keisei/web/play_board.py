"""The board that can be played on: the picture, with a button over every square and every held piece."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Final

from nicegui import ui
from nicegui.events import GenericEventArguments

from keisei.shogi.board_svg import Arrow, Box, hand_box, square_box
from keisei.shogi.types import SQUARES, Color, PieceType
from keisei.web.board_picture import picture
from keisei.web.play_session import SQUARE_OF, PlaySession, place_of
from keisei.web.visit import Visit

HAND_LETTERS: Final = "PLNSGBR"
_PLACES: Final = {*SQUARE_OF, *(f"{letter}*" for letter in HAND_LETTERS)}
_CLICK: Final = """(event) => {
  const button = event.target.closest('[data-place]');
  if (button && !event.currentTarget.dragged) emit(button.dataset.place);
}"""
_PRESS: Final = """(event) => {
  event.currentTarget.dragged = false;
  event.currentTarget.pressed = event.pointerType === 'mouse' && event.target.closest('[data-place]');
}"""
_RELEASE: Final = """(event) => {
  const from = event.currentTarget.pressed;
  const under = document.elementFromPoint(event.clientX, event.clientY);
  const to = under && under.closest('[data-place]');
  if (from && to && to !== from) {
    event.currentTarget.dragged = true;
    emit(from.dataset.place, to.dataset.place);
  }
}"""
_ARROW_KEYS: Final = """(event) => {
  const step = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[event.key];
  const here = event.target.closest('[data-x]');
  if (!step || !here) return;
  event.preventDefault();
  const x = +here.dataset.x + step[0], y = +here.dataset.y + step[1];
  const there = event.currentTarget.querySelector(`[data-x="${x}"][data-y="${y}"]`);
  if (there) there.focus();
}"""


#: After a moment, so that the new buttons are there; unless the visitor has gone elsewhere already.
_FOCUS: Final = """setTimeout(() => {
  const button = document.querySelector('.k-squares [data-place="%s"]');
  if (button && document.activeElement === document.body) button.focus();
}, 30)"""


class PlayBoard:
    """Shows a session and reports clicks and drags as places."""

    def __init__(
        self,
        visit: Visit,
        on_click: Callable[[str], Awaitable[None]],
        on_drag: Callable[[str, str], Awaitable[None]],
    ) -> None:
        self._visit = visit
        self._on_click = on_click
        self._on_drag = on_drag
        self._focus: str | None = None
        with ui.element("div").classes("k-board"):
            self._picture = ui.html(sanitize=False)
            self._buttons = ui.html(sanitize=False).classes("k-squares")
        self._buttons.on("click", self._clicked, js_handler=_CLICK)
        self._buttons.on("pointerdown", js_handler=_PRESS)
        self._buttons.on("pointerup", self._dragged, js_handler=_RELEASE)
        self._buttons.on("keydown", js_handler=_ARROW_KEYS)

    def show(self, session: PlaySession, names: tuple[str, str], arrows: Sequence[Arrow] = ()) -> None:
        """Draw the session as it stands."""
        flipped = session.human is Color.WHITE
        self._picture.set_content(
            picture(session.game, self._visit, names=names, arrows=arrows, flipped=flipped)
        )
        self._buttons.set_content("".join(_buttons(session, flipped=flipped)))
        if self._focus is not None:
            # The buttons are new; whoever plays by keyboard goes on where they were.
            ui.run_javascript(_FOCUS % self._focus)

    async def _clicked(self, event: GenericEventArguments) -> None:
        if isinstance(event.args, str) and event.args in _PLACES:
            self._focus = event.args
            await self._on_click(event.args)

    async def _dragged(self, event: GenericEventArguments) -> None:
        match event.args:
            case [str(origin), str(target)] if {origin, target} <= _PLACES:
                self._focus = target
                await self._on_drag(origin, target)


def _buttons(session: PlaySession, *, flipped: bool) -> Iterator[str]:
    origins, targets = session.origins(), session.targets()
    for square in range(SQUARES):
        place = place_of(square)
        piece = session.game.piece_at(square)
        what = "empty" if piece is None else f"{piece[0].name.title()} {_piece_name(piece[1])}"
        y, x = divmod(SQUARES - 1 - square if flipped else square, 9)
        marks = [
            name
            for name, is_so in (
                ("chosen", place == session.chosen),
                ("target", place in targets),
                ("taken", place in targets and piece is not None),
            )
            if is_so
        ]
        yield _button(
            place,
            square_box(square, flipped=flipped),
            f"{place} {what}{', can move here' if place in targets else ''}",
            marks,
            f' data-x="{x}" data-y="{y}"',
            is_live=place in origins or place in targets,
        )
    hands = (session.game.hand(Color.BLACK), session.game.hand(Color.WHITE))
    for kind, count in enumerate(hands[session.human]):
        if count:
            place = f"{HAND_LETTERS[kind]}*"
            label = f"{count} {_piece_name(PieceType(kind))} in hand"
            box = hand_box(session.human, kind, hands, flipped=flipped)
            marks = ["chosen"] if place == session.chosen else []
            yield _button(place, box, label, marks, "", is_live=place in origins)


def _piece_name(kind: PieceType) -> str:
    return kind.name.lower().replace("_", "-")


def _button(place: str, box: Box, label: str, marks: list[str], extra: str, *, is_live: bool) -> str:
    style = "".join(f"{name}:{100 * share:.3f}%;" for name, share in box._asdict().items())
    return (
        f'<button type="button" data-place="{place}" style="{style}" class="{" ".join(marks)}"'
        f' aria-label="{label}" aria-disabled="{str(not is_live).lower()}" tabindex="{0 if is_live else -1}"{extra}>'
        "</button>"
    )
