"""A position as plain text: the board that ``print(game)`` and ``keisei show`` draw.

Takes plain data only: 81 squares in the order of the encodings (rank a first, file 9 first), each ``None`` or
``(color, piece type)``, and the two hands. The kanji diagram is the one that KIF files carry, so that it can
be pasted into other shogi programs.
"""

from collections.abc import Sequence
from typing import Final, Literal, get_args

Piece = tuple[int, int]
"""Colour (0 Black, 1 White) and piece type (P L N S G B R K +P +L +N +S +B +R as 0..13)."""

Hands = tuple[Sequence[int], Sequence[int]]
"""Black's and White's counts of P L N S G B R."""

TextStyle = Literal["kanji", "ascii"]

PIECE_KANJI: Final = "歩香桂銀金角飛玉と杏圭全馬龍"
"""One character for each piece type; promoted lance, knight and silver in their one-character forms."""
PIECE_LETTERS: Final = "PLNSGBRK"
HAND_ORDER: Final = (6, 5, 4, 3, 2, 1, 0)
"""Hands are listed from rook to pawn, as in SFEN."""

FULLWIDTH_DIGITS: Final = "０１２３４５６７８９"
KANJI_DIGITS: Final = "〇一二三四五六七八九"
RANK_LETTERS: Final = "abcdefghi"
_EDGE: Final = "+" + "-" * 27 + "+"
_FIRST_PROMOTED: Final = 8
_PROMOTED_BASE: Final = (0, 1, 2, 3, 5, 6)


def base_type(piece_type: int) -> int:
    """The type that ``piece_type`` has when it is not promoted."""
    return piece_type if piece_type < _FIRST_PROMOTED else _PROMOTED_BASE[piece_type - _FIRST_PROMOTED]


def kanji_number(count: int) -> str:
    """``count`` in Japanese numerals as used for hands: 2 → 二, 10 → 十, 18 → 十八 (counts go up to 18)."""
    tens, ones = divmod(count, 10)
    return ("十" if tens else "") + (KANJI_DIGITS[ones] if ones else "")


def sfen_letters(piece: Piece) -> str:
    """``piece`` as SFEN writes it: ``P`` and ``+P`` for Black, ``p`` and ``+p`` for White."""
    color, piece_type = piece
    letter = PIECE_LETTERS[base_type(piece_type)]
    promoted = "+" if piece_type >= _FIRST_PROMOTED else ""
    return promoted + (letter if color == 0 else letter.lower())


def board_text(
    pieces: Sequence[Piece | None],
    hands: Hands,
    turn: int,
    *,
    style: TextStyle = "ascii",
) -> str:
    """Draw the position as text, White's hand above and Black's below.

    Args:
        pieces: 81 squares, rank a first and file 9 first in each rank.
        hands: Black's and White's counts of P L N S G B R.
        turn: side to move, 0 Black or 1 White.
        style: ``ascii`` uses SFEN letters; ``kanji`` the KIF diagram, whose pieces are two columns wide.
    """
    if style not in get_args(TextStyle):
        raise ValueError(f"style must be one of {', '.join(get_args(TextStyle))}, not {style!r}")
    draw = _kanji_lines if style == "kanji" else _ascii_lines
    return "\n".join(draw(pieces, hands, turn))


def _ascii_lines(pieces: Sequence[Piece | None], hands: Hands, turn: int) -> list[str]:
    lines = [f"White: {_ascii_hand(hands[1])}", "  9  8  7  6  5  4  3  2  1", _EDGE]
    for row, letter in enumerate(RANK_LETTERS):
        cells = (sfen_letters(piece) if piece else "." for piece in pieces[9 * row : 9 * row + 9])
        lines.append("|" + "".join(f"{cell:>2} " for cell in cells) + "| " + letter)
    mover = "White" if turn else "Black"
    return [*lines, _EDGE, f"Black: {_ascii_hand(hands[0])}", f"{mover} to move"]


def _kanji_lines(pieces: Sequence[Piece | None], hands: Hands, turn: int) -> list[str]:
    files = "".join(f" {FULLWIDTH_DIGITS[file]}" for file in range(9, 0, -1))
    lines = [f"後手の持駒：{_kanji_hand(hands[1])}", f" {files}", _EDGE]
    for row in range(9):
        cells = "".join(_kanji_cell(piece) for piece in pieces[9 * row : 9 * row + 9])
        lines.append(f"|{cells}|{KANJI_DIGITS[row + 1]}")
    mover = "後手番" if turn else "先手番"
    return [*lines, _EDGE, f"先手の持駒：{_kanji_hand(hands[0])}", mover]


def _kanji_cell(piece: Piece | None) -> str:
    if piece is None:
        return " ・"
    color, piece_type = piece
    return ("v" if color else " ") + PIECE_KANJI[piece_type]


def _ascii_hand(hand: Sequence[int]) -> str:
    held = [
        f"{PIECE_LETTERS[kind]}{hand[kind] if hand[kind] > 1 else ''}" for kind in HAND_ORDER if hand[kind]
    ]
    return " ".join(held) or "-"


def _kanji_hand(hand: Sequence[int]) -> str:
    held = [
        PIECE_KANJI[kind] + (kanji_number(hand[kind]) if hand[kind] > 1 else "")
        for kind in HAND_ORDER
        if hand[kind]
    ]
    return "\u3000".join(held) or "なし"
