"""Squares, pieces and positions between the notations and SFEN/USI."""

from collections.abc import Sequence

from keisei.shogi.board_text import HAND_ORDER, PIECE_LETTERS, Hands, Piece, base_type, sfen_letters
from keisei.shogi.game import ShogiGame
from keisei.shogi.types import SQUARES, Color, PieceType, square_name

HAND_KINDS = len(HAND_ORDER)


def square_at(file: int, rank: int) -> int:
    """Index of a square from its shogi file and rank, each 1..9."""
    return 9 * (rank - 1) + 9 - file


def board_move_usi(origin: int, target: int, promotes: bool) -> str:
    """USI of a move on the board."""
    return square_name(origin) + square_name(target) + ("+" if promotes else "")


def drop_usi(piece_type: int, target: int) -> str:
    """USI of a drop."""
    return f"{PIECE_LETTERS[piece_type]}*{square_name(target)}"


def own_piece_type(game: ShogiGame, square: int) -> PieceType | None:
    """Type of the mover's piece on ``square``, or None when there is no such piece."""
    piece = game.piece_at(square)
    return PieceType(piece[1]) if piece is not None and piece[0] == game.turn else None


def is_promotion(before: int, after: int) -> bool:
    """Whether a piece of type ``before`` that then stands as ``after`` has promoted on the way."""
    return before != after and base_type(after) == before


def pieces_of_sfen(sfen: str) -> list[Piece | None]:
    """The 81 squares of a valid SFEN."""
    game = ShogiGame(sfen)
    return [game.piece_at(square) for square in range(SQUARES)]


def sfen_of(pieces: Sequence[Piece | None], hands: Hands, turn: Color) -> str:
    """SFEN of a position given square by square, move number 1; no check whether it is a possible one."""
    rows = "/".join(_sfen_row(pieces[start : start + 9]) for start in range(0, SQUARES, 9))
    held = "".join(
        (str(hand[kind]) if hand[kind] > 1 else "") + sfen_letters((color, kind))
        for color, hand in enumerate(hands)
        for kind in HAND_ORDER
        if hand[kind]
    )
    return f"{rows} {'bw'[turn]} {held or '-'} 1"


def _sfen_row(row: Sequence[Piece | None]) -> str:
    text, empty = "", 0
    for piece in row:
        if piece is None:
            empty += 1
            continue
        text += (str(empty) if empty else "") + sfen_letters(piece)
        empty = 0
    return text + (str(empty) if empty else "")
