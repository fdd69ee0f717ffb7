"""The two symmetries of shogi, worked out on the text of positions and moves alone.

Turned: the board rotated by 180 degrees and the colours swapped: the other side stands in the same position.
Mirrored: left and right exchanged, colours kept.
"""

import re
from dataclasses import dataclass

from keisei.shogi import Color, Outcome, Reason, ShogiGame

_FILES = str.maketrans("123456789", "987654321")
_FILES_AND_RANKS = str.maketrans("123456789abcdefghi", "987654321ihgfedcba")


def _squares(board: str) -> list[str]:
    """The board's pieces and runs of empty squares, from 9a to 1i, with the ends of ranks."""
    return re.findall(r"\+?[a-zA-Z]|\d|/", board)


def _hand_words(hands: str) -> list[str]:
    return re.findall(r"\d*[a-zA-Z]", hands)


def turned_sfen(sfen: str) -> str:
    board, turn, hands, number = sfen.split()
    new_board = "".join(reversed(_squares(board))).swapcase()
    held = [word.swapcase() for word in _hand_words(hands)]
    black_first = sorted(held, key=lambda word: word[-1].islower())
    return f"{new_board} {'w' if turn == 'b' else 'b'} {''.join(black_first) or '-'} {number}"


def mirrored_sfen(sfen: str) -> str:
    board, rest = sfen.split(maxsplit=1)
    ranks = ["".join(reversed(_squares(rank))) for rank in board.split("/")]
    return f"{'/'.join(ranks)} {rest}"


def _with_squares(usi: str, table: dict[int, int]) -> str:
    """Translates squares; the piece letter of a drop stays."""
    return usi[:2] + usi[2:].translate(table) if usi[1] == "*" else usi.translate(table)


def turned_usi(usi: str) -> str:
    return _with_squares(usi, _FILES_AND_RANKS)


def mirrored_usi(usi: str) -> str:
    return _with_squares(usi, _FILES)


@dataclass(frozen=True)
class Side:
    """A player for whom a test case that was written for Black is played, as it stands or turned."""

    color: Color

    def sfen(self, sfen: str) -> str:
        return sfen if self.color is Color.BLACK else turned_sfen(sfen)

    def usi(self, usi: str) -> str:
        return usi if self.color is Color.BLACK else turned_usi(usi)

    def game(self, sfen: str, *, max_plies: int = 512, impasse_rule: str = "csa27") -> ShogiGame:
        return ShogiGame(self.sfen(sfen), max_plies=max_plies, impasse_rule=impasse_rule)

    def play(self, game: ShogiGame, moves: str) -> tuple[float, bool]:
        """Plays moves written for Black; returns reward and done of the last."""
        reward, done = 0.0, False
        for usi in moves.split():
            _, reward, done, _ = game.make_move(self.usi(usi))
        return reward, done

    def legal(self, game: ShogiGame) -> set[str]:
        """The legal moves as Black would write them."""
        return {self.usi(move.usi) for move in game.legal_moves()}

    def wins(self, reason: Reason) -> Outcome:
        return Outcome(self.color, reason)

    def loses(self, reason: Reason) -> Outcome:
        return Outcome(self.color.opponent, reason)
