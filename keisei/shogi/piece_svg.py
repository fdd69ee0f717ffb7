"""One shogi piece as SVG: a pentagon with a kanji, or with a letter and marks that show how the piece moves."""

from collections.abc import Iterator, Mapping
from typing import Final, Literal

from keisei.shogi.board_text import sfen_letters
from keisei.shogi.types import PieceType

SvgStyle = Literal["kanji", "international"]

_PENTAGON: Final = "0,-23 14.5,-17 19.5,21.5 -19.5,21.5 -14.5,-17"
_FACE_CENTRE: Final = 2.5
_SHADOW: Final = 1.8
# Higher pieces are a little larger, as in a real set; a promoted piece keeps its size.
_SCALES: Final[Mapping[PieceType, float]] = {
    PieceType.PAWN: 0.86,
    PieceType.LANCE: 0.9,
    PieceType.KNIGHT: 0.9,
    PieceType.SILVER: 0.94,
    PieceType.GOLD: 0.94,
    PieceType.BISHOP: 0.98,
    PieceType.ROOK: 0.98,
    PieceType.KING: 1.0,
    PieceType.PRO_PAWN: 0.86,
    PieceType.PRO_LANCE: 0.9,
    PieceType.PRO_KNIGHT: 0.9,
    PieceType.PRO_SILVER: 0.94,
    PieceType.HORSE: 0.98,
    PieceType.DRAGON: 0.98,
}
# The senior king is 王 and the junior one 玉; White, who gives handicaps, is the senior.
_KANJI: Final = ("歩香桂銀金角飛玉と杏圭全馬龍", "歩香桂銀金角飛王と杏圭全馬龍")

_DIAGONALS: Final = ("NW", "NE", "SW", "SE")
_ORTHOGONALS: Final = ("N", "W", "E", "S")
_GOLD_STEPS: Final = ("NW", "N", "NE", "W", "E", "S")
_STEPS: Final[Mapping[PieceType, tuple[str, ...]]] = {
    PieceType.PAWN: ("N",),
    PieceType.SILVER: ("N", *_DIAGONALS),
    PieceType.GOLD: _GOLD_STEPS,
    PieceType.KING: (*_ORTHOGONALS, *_DIAGONALS),
    PieceType.PRO_PAWN: _GOLD_STEPS,
    PieceType.PRO_LANCE: _GOLD_STEPS,
    PieceType.PRO_KNIGHT: _GOLD_STEPS,
    PieceType.PRO_SILVER: _GOLD_STEPS,
    PieceType.HORSE: _ORTHOGONALS,
    PieceType.DRAGON: _DIAGONALS,
}
_SLIDES: Final[Mapping[PieceType, tuple[str, ...]]] = {
    PieceType.LANCE: ("N",),
    PieceType.BISHOP: _DIAGONALS,
    PieceType.ROOK: _ORTHOGONALS,
    PieceType.HORSE: _DIAGONALS,
    PieceType.DRAGON: _ORTHOGONALS,
}


def piece_svg(x: float, y: float, piece_type: int, color: int, upright: bool, style: SvgStyle) -> str:
    """A piece centred on (x, y); ``upright`` pieces point up the page, the others down."""
    kind = PieceType(piece_type)
    turned = "" if upright else " rotate(180)"
    # The shadow falls downwards on the page, whichever way the piece points.
    shadow = _SHADOW if upright else -_SHADOW
    glyph = _kanji(kind, color) if style == "kanji" else "".join(_international(kind, upright))
    return (
        f'<g transform="translate({x:g} {y:g}){turned} scale({_SCALES[kind]})">'
        f'<polygon class="shadow" points="{_PENTAGON}" transform="translate(0 {shadow})"/>'
        f'<polygon class="face" points="{_PENTAGON}"/>{glyph}</g>'
    )


def _ink(kind: PieceType) -> str:
    return "red" if kind > PieceType.KING else "glyph"


def _kanji(kind: PieceType, color: int) -> str:
    return f'<text class="{_ink(kind)}" y="13.5" font-size="30">{_KANJI[color][kind]}</text>'


def _international(kind: PieceType, upright: bool) -> Iterator[str]:
    """A letter, a dot for each step and a stroke for each direction in which the piece slides.

    The letter always stands upright, since a turned P reads as d; the face shows whose piece it is.
    """
    ink = _ink(kind)
    letters = sfen_letters((0, kind))
    size = 18 if len(letters) == 1 else 13
    turned = "" if upright else f' transform="rotate(180 0 {_FACE_CENTRE})"'
    yield (
        f'<text class="letter {ink}" y="{_FACE_CENTRE + size * 0.36:g}" font-size="{size}"'
        f' font-weight="700"{turned}>{letters}</text>'
    )
    for direction in _STEPS.get(kind, ()):
        x, y = _compass(direction, 12.5)
        yield f'<circle class="{ink}" cx="{x:g}" cy="{y:g}" r="1.9"/>'
    for direction in _SLIDES.get(kind, ()):
        (x, y), (far_x, far_y) = _compass(direction, 9.8), _compass(direction, 14)
        yield f'<path class="{ink} mark" d="M{x:g} {y:g}L{far_x:g} {far_y:g}"/>'
    if kind is PieceType.KNIGHT:
        yield '<path class="glyph mark" d="M-2 -11L-6.5 -15.5M2 -11L6.5 -15.5" style="fill:none"/>'


def _compass(direction: str, distance: float) -> tuple[float, float]:
    """The point ``distance`` away from the middle of the face, on a square and not on a circle."""
    x = ("E" in direction) - ("W" in direction)
    y = ("S" in direction) - ("N" in direction)
    return x * distance, _FACE_CENTRE + y * (distance + 1.5)
