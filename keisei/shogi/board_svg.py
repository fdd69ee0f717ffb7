"""A position as an SVG picture: board, hands, last move, check and weighted arrows.

Pure string building from plain data, without any other package: the same picture serves notebooks
(``_repr_svg_``), the web page and files. Pieces are kanji, or ``international``: a letter with marks that
show how the piece moves, which needs no Japanese font and no knowledge of Japanese.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple, get_args
from unicodedata import east_asian_width
from xml.sax.saxutils import escape

from keisei.shogi.board_text import HAND_ORDER, KANJI_DIGITS, RANK_LETTERS, Hands, Piece
from keisei.shogi.piece_svg import SvgStyle, piece_svg

Theme = Literal["auto", "light", "dark"]


class Arrow(NamedTuple):
    """A move to point out. Its width grows with ``weight`` (a probability); the label stands at its tip."""

    origin: int | None
    """Square the move starts from, or None for a drop from the hand of the side to move."""
    target: int
    weight: float = 1.0
    label: str = ""
    drop_type: int | None = None
    """Piece type that is dropped (P L N S G B R as 0..6), when ``origin`` is None."""


class Box(NamedTuple):
    """A rectangle of the picture, in shares of its width and height: where a page puts what can be clicked."""

    left: float
    top: float
    width: float
    height: float


class _Point(NamedTuple):
    x: float
    y: float


# Geometry in user units; the picture scales with its width.
_CELL: Final = 50
_BOARD: Final = 9 * _CELL
_MARGIN: Final = 14
_NAME_HEIGHT: Final = 30
_BAND: Final = 24
_STAND_WIDTH: Final = 78
_SLOT: Final = 47
_STAND_HEIGHT: Final = 7 * _SLOT + 8
_GAP: Final = 12
_LEFT: Final = _MARGIN + _STAND_WIDTH + _GAP
_TOP: Final = _MARGIN + _NAME_HEIGHT + _BAND
_WIDTH: Final = _LEFT + _BOARD + _BAND + _STAND_WIDTH + _MARGIN
_HEIGHT: Final = _TOP + _BOARD + _NAME_HEIGHT + _MARGIN
_NAME_COLUMNS: Final = 44

_KANJI_FONTS: Final = "'Noto Serif CJK JP','Hiragino Mincho ProN','Yu Mincho',IPAMincho,IPAGothic,serif"
_LABEL_FONTS: Final = "system-ui,'Segoe UI','DejaVu Sans',sans-serif"

_LIGHT: Final = {
    "panel": "#f3eee3",
    "ink": "#2b2722",
    "muted": "#857b6b",
    "stand": "#e0cfa9",
    "board": "#ecca85",
    "line": "#7a5a2b",
    "piece": "#fdebc3",
    "edge": "#8f6d38",
    "shadow": "#a98248",
    "glyph": "#1d1812",
    "red": "#b8241b",
    "last": "#e8842a",
    "check": "#d32f2f",
    "arrow": "#14647e",
    "turn": "#c8531c",
}
_DARK: Final = _LIGHT | {
    "panel": "#201d1a",
    "ink": "#efe8da",
    "muted": "#a39a8a",
    "stand": "#3d342a",
    "board": "#b98f50",
    "line": "#4a3416",
    "piece": "#f0d9a8",
    "edge": "#5d4520",
    "shadow": "#6d5127",
    "last": "#f08a24",
    "arrow": "#0b4f66",
    "turn": "#f09a4a",
}


def board_svg(
    pieces: Sequence[Piece | None],
    hands: Hands,
    turn: int,
    *,
    last_move: tuple[int | None, int] | None = None,
    check: int | None = None,
    arrows: Iterable[Arrow] = (),
    style: SvgStyle = "kanji",
    theme: Theme = "auto",
    flipped: bool = False,
    names: tuple[str, str] = ("", ""),
    width: int = 560,
) -> str:
    """Draw the position as one self-contained SVG element.

    Args:
        pieces: 81 squares, rank a first and file 9 first in each rank; None or (colour, piece type 0..13).
        hands: Black's and White's counts of P L N S G B R.
        turn: side to move, 0 Black or 1 White.
        last_move: squares (from, to) to highlight; from is None for a drop.
        check: square of a king in check, to be ringed.
        arrows: moves to point out, the strongest drawn on top.
        style: ``kanji`` pieces, or ``international`` letters with movement marks.
        theme: ``auto`` follows the viewer's light or dark preference.
        flipped: show the board from White's side.
        names: Black's and White's name; any text, it is escaped here.
        width: width of the picture in pixels; the height follows.
    """
    for name, value, known in (("style", style, get_args(SvgStyle)), ("theme", theme, get_args(Theme))):
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}, not {value!r}")
    view = _View(flipped)
    parts = [
        _opening(turn, theme, width),
        _style_sheet(theme),
        f'<rect class="panel" width="{_WIDTH}" height="{_HEIGHT}" rx="12"/>',
        *_names(view, turn, names),
        *_board(view, last_move, check),
        *_coordinates(view, style),
        *_stands(view, hands, style),
    ]
    parts += [
        piece_svg(*view.square(square), piece[1], piece[0], view.upright(piece[0]), style)
        for square, piece in enumerate(pieces)
        if piece
    ]
    parts += [_arrow(view, arrow, hands, turn) for arrow in sorted(arrows, key=lambda arrow: arrow.weight)]
    return "\n".join([*parts, "</svg>"])


def square_box(square: int, *, flipped: bool = False) -> Box:
    """Where square 0..80 lies in the picture."""
    return _box_around(_View(flipped).square(square), _CELL)


def hand_box(color: int, kind: int, hands: Hands, *, flipped: bool = False) -> Box:
    """Where the pieces of ``kind`` that ``color`` holds lie in the picture."""
    slot = [held for held, _ in _held(hands[color])].index(kind)
    return _box_around(_View(flipped).hand_slot(color, slot), _SLOT)


def _box_around(centre: "_Point", side: float) -> Box:
    corner = (centre.x - side / 2, centre.y - side / 2)
    return Box(corner[0] / _WIDTH, corner[1] / _HEIGHT, side / _WIDTH, side / _HEIGHT)


class _View:
    """Where squares and hand pieces lie, seen from Black's or (flipped) from White's side."""

    def __init__(self, flipped: bool) -> None:
        self.flipped = flipped

    def upright(self, color: int) -> bool:
        """Whether pieces of ``color`` belong to the near player and so point up."""
        return (color == 0) != self.flipped

    def square(self, square: int) -> _Point:
        row, column = divmod(80 - square if self.flipped else square, 9)
        return _Point(_LEFT + (column + 0.5) * _CELL, _TOP + (row + 0.5) * _CELL)

    def stand(self, color: int) -> _Point:
        """Upper left corner of the piece stand of ``color``."""
        if self.upright(color):
            return _Point(_WIDTH - _MARGIN - _STAND_WIDTH, _TOP + _BOARD - _STAND_HEIGHT)
        return _Point(_MARGIN, _TOP)

    def hand_slot(self, color: int, slot: int) -> _Point:
        """Centre of the ``slot``-th kind of piece held by ``color``; the two stands are point-symmetric."""
        corner = self.stand(color)
        offset = 4 + (slot + 0.5) * _SLOT
        y = corner.y + (offset if self.upright(color) else _STAND_HEIGHT - offset)
        return _Point(corner.x + _STAND_WIDTH / 2 - 11, y)


def _opening(turn: int, theme: Theme, width: int) -> str:
    label = f"Shogi position, {'White' if turn else 'Black'} to move"
    height = round(width * _HEIGHT / _WIDTH)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{width}"'
        f' height="{height}" class="keisei-{theme}" role="img" aria-label="{label}">'
    )


def _style_sheet(theme: Theme) -> str:
    """Rules carry the theme in their selector: boards of different themes can share one HTML page."""
    root = f".keisei-{theme}"
    rules = (
        f"{root} text{{font-family:{_KANJI_FONTS};text-anchor:middle;stroke:none}}"
        f"{root} .letter,{root} .label{{font-family:{_LABEL_FONTS}}}"
        f"{root} .line{{stroke-width:1;fill:none}}{root} .face{{stroke-width:.9;stroke-linejoin:round}}"
        f"{root} .mark{{stroke-width:2;stroke-linecap:round}}"
    )
    colours = _colours(root, _DARK if theme == "dark" else _LIGHT)
    if theme == "auto":
        colours += f"@media (prefers-color-scheme:dark){{{_colours(root, _DARK)}}}"
    return f"<style>{rules}{colours}</style>"


def _colours(root: str, palette: Mapping[str, str]) -> str:
    fills = "".join(f"{root} .{name}{{fill:{colour}}}" for name, colour in palette.items())
    strokes = (
        f"{root} .line{{fill:none;stroke:{palette['line']}}}"
        f"{root} .face{{fill:{palette['piece']};stroke:{palette['edge']}}}"
        f"{root} .glyph.mark{{stroke:{palette['glyph']}}}{root} .red.mark{{stroke:{palette['red']}}}"
        f"{root} .ring{{fill:none;stroke:{palette['check']};stroke-width:3.5}}"
        f"{root} .shaft{{fill:none;stroke:{palette['arrow']}}}"
        f"{root} .halo{{stroke:{palette['piece']};stroke-width:3;paint-order:stroke;stroke-linejoin:round}}"
    )
    return fills + strokes


def _names(view: _View, turn: int, names: tuple[str, str]) -> Iterator[str]:
    for color, mark in enumerate("☗☖"):
        y = _HEIGHT - _MARGIN - 1 if view.upright(color) else _MARGIN + 16
        text = _clip(_xml_characters(names[color] or ("Black", "White")[color]))
        shown = escape(f"{mark} {text}")
        weight = ' font-weight="600"' if color == turn else ""
        if color == turn:
            yield f'<circle class="turn" cx="{_LEFT + 6}" cy="{y - 6}" r="5"/>'
        x = _LEFT + 18 if color == turn else _LEFT
        yield (
            f'<text class="label ink" x="{x}" y="{y}" font-size="17"{weight} style="text-anchor:start">'
            f"{shown}</text>"
        )


def _board(view: _View, last_move: tuple[int | None, int] | None, check: int | None) -> Iterator[str]:
    yield f'<rect class="board" x="{_LEFT}" y="{_TOP}" width="{_BOARD}" height="{_BOARD}"/>'
    if last_move:
        for square, opacity in zip(last_move, (0.3, 0.6), strict=True):
            if square is not None:
                yield _cell(view.square(square), opacity)
    lines = "".join(
        f"M{_LEFT} {_TOP + step * _CELL}h{_BOARD}M{_LEFT + step * _CELL} {_TOP}v{_BOARD}"
        for step in range(1, 9)
    )
    yield f'<path class="line" d="{lines}"/>'
    yield (
        f'<rect class="line" x="{_LEFT}" y="{_TOP}" width="{_BOARD}" height="{_BOARD}"'
        ' style="stroke-width:2.5"/>'
    )
    for column in (3, 6):
        for row in (3, 6):
            yield f'<circle class="edge" cx="{_LEFT + column * _CELL}" cy="{_TOP + row * _CELL}" r="3"/>'
    if check is not None:
        centre = view.square(check)
        yield f'<circle class="check" cx="{centre.x:g}" cy="{centre.y:g}" r="24" opacity=".3"/>'
        yield f'<circle class="ring" cx="{centre.x:g}" cy="{centre.y:g}" r="23"/>'


def _cell(centre: _Point, opacity: float) -> str:
    return (
        f'<rect class="last" x="{centre.x - _CELL / 2:g}" y="{centre.y - _CELL / 2:g}" width="{_CELL}"'
        f' height="{_CELL}" opacity="{opacity}"/>'
    )


def _coordinates(view: _View, style: SvgStyle) -> Iterator[str]:
    ranks = KANJI_DIGITS[1:] if style == "kanji" else RANK_LETTERS
    for index in range(9):
        file_at = view.square(index).x
        rank_at = view.square(9 * index).y
        yield f'<text class="label muted" x="{file_at:g}" y="{_TOP - 8}" font-size="14">{9 - index}</text>'
        yield (
            f'<text class="label muted" x="{_LEFT + _BOARD + _BAND / 2:g}" y="{rank_at + 5:g}"'
            f' font-size="14">{ranks[index]}</text>'
        )


def _held(hand: Sequence[int]) -> list[tuple[int, int]]:
    """(piece type, count) of what ``hand`` holds, rook first: the order of the slots on a stand."""
    return [(kind, hand[kind]) for kind in HAND_ORDER if hand[kind]]


def _stands(view: _View, hands: Hands, style: SvgStyle) -> Iterator[str]:
    for color, hand in enumerate(hands):
        corner = view.stand(color)
        yield (
            f'<rect class="stand" x="{corner.x:g}" y="{corner.y:g}" width="{_STAND_WIDTH}"'
            f' height="{_STAND_HEIGHT}" rx="8"/>'
        )
        for slot, (kind, count) in enumerate(_held(hand)):
            centre = view.hand_slot(color, slot)
            yield piece_svg(*centre, kind, color, view.upright(color), style)
            if count > 1:
                yield (
                    f'<text class="label ink" x="{centre.x + 34:g}" y="{centre.y + 6:g}" font-size="17"'
                    f' font-weight="600">{count}</text>'
                )


def _arrow(view: _View, arrow: Arrow, hands: Hands, turn: int) -> str:
    start, tip = _arrow_start(view, arrow, hands, turn), view.square(arrow.target)
    weight = min(max(0.0, arrow.weight), 1.0)
    width = 2.5 + 9 * weight
    length = math.dist(start, tip) or 1.0
    ux, uy = (tip.x - start.x) / length, (tip.y - start.y) / length
    head = min(8 + 1.6 * width, length)
    neck = _Point(tip.x - ux * head, tip.y - uy * head)
    half = 3 + 0.8 * width
    triangle = (
        f"{tip.x:.1f},{tip.y:.1f} {neck.x - uy * half:.1f},{neck.y + ux * half:.1f} "
        f"{neck.x + uy * half:.1f},{neck.y - ux * half:.1f}"
    )
    shape = (
        f'<g opacity="{0.45 + 0.45 * weight:.2f}"><path class="shaft" d="M{start.x:.1f} {start.y:.1f}'
        f'L{neck.x:.1f} {neck.y:.1f}" stroke-width="{width:.1f}"/>'
        f'<polygon class="arrow" points="{triangle}"/></g>'
    )
    if not arrow.label:
        return shape
    label = escape(_xml_characters(arrow.label))
    return (
        f'{shape}<text class="label arrow halo" x="{tip.x:g}" y="{tip.y + 21:g}" font-size="13"'
        f' font-weight="700">{label}</text>'
    )


def _arrow_start(view: _View, arrow: Arrow, hands: Hands, turn: int) -> _Point:
    if arrow.origin is not None:
        return view.square(arrow.origin)
    kinds = [kind for kind, _ in _held(hands[turn])]
    return view.hand_slot(turn, kinds.index(arrow.drop_type) if arrow.drop_type in kinds else 0)


def _xml_characters(text: str) -> str:
    """``text`` without the characters that XML 1.0 forbids even when escaped."""
    return "".join(
        char
        for char in text
        if char in "\t\n\r" or "\x20" <= char <= "\ud7ff" or "\ue000" <= char <= "\ufffd" or char > "\uffff"
    )


def _clip(name: str) -> str:
    """``name`` cut to the columns that fit above the board; wide characters count twice."""
    columns = 0
    for index, char in enumerate(name):
        columns += 2 if east_asian_width(char) in "WF" else 1
        if columns > _NAME_COLUMNS:
            return name[: max(index - 1, 0)] + "…"
    return name
