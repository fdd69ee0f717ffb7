"""A position as the page draws it: the shared SVG renderer with the visitor's theme and pieces."""

from collections.abc import Iterable

from keisei.shogi.board_svg import Arrow, board_svg
from keisei.shogi.game import ShogiGame
from keisei.shogi.types import SQUARES, Color, PieceType
from keisei.web.visit import Visit


def picture(
    game: ShogiGame,
    visit: Visit,
    *,
    names: tuple[str, str] = ("", ""),
    arrows: Iterable[Arrow] = (),
    flipped: bool = False,
) -> str:
    """The SVG of a position. Names are escaped by the renderer."""
    pieces = [game.piece_at(square) for square in range(SQUARES)]
    last = game.last_move
    return board_svg(
        pieces,
        (game.hand(Color.BLACK), game.hand(Color.WHITE)),
        int(game.turn),
        last_move=None if last is None else (last.from_square, last.to_square),
        check=pieces.index((game.turn, PieceType.KING)) if game.is_in_check else None,
        arrows=arrows,
        style=visit.pieces,
        theme=visit.theme,
        flipped=flipped,
        names=names,
    )
