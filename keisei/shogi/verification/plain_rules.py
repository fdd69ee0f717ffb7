"""Two rules in plain Python, for oracles that show positions but do not judge them.

They read an oracle's own SFEN and check flags, never our engine, and favour being obvious over being fast.
"""

from __future__ import annotations

CAMP_RANKS = 3
PIECES_NEEDED_IN_CAMP = 10
POINTS_NEEDED = {"b": 28, "w": 27}
MAJOR_POINTS = 5


def may_declare(sfen: str, in_check: bool) -> bool:
    """The CSA declaration for the side to move: king in the camp, 10 pieces there, 28 (White 27) points."""
    board, turn, hands, _ = sfen.split()
    ranks = board.split("/")
    camp = "".join(ranks[:CAMP_RANKS] if turn == "b" else ranks[-CAMP_RANKS:])
    mine = str.isupper if turn == "b" else str.islower
    in_camp = [letter.upper() for letter in camp if mine(letter)]
    if in_check or "K" not in in_camp or len(in_camp) - 1 < PIECES_NEEDED_IN_CAMP:
        return False
    points = sum(map(_points, in_camp)) + _hand_points(hands, turn)
    return points >= POINTS_NEEDED[turn]


def _points(letter: str) -> int:
    return {"K": 0, "R": MAJOR_POINTS, "B": MAJOR_POINTS}.get(letter, 1)


def _hand_points(hands: str, turn: str) -> int:
    points, count = 0, ""
    for letter in hands:
        if letter.isdigit():
            count += letter
            continue
        if letter.isalpha() and letter.isupper() == (turn == "b"):
            points += int(count or 1) * _points(letter.upper())
        count = ""
    return points


class CheckHistory:
    """The positions of one game as (key, side to move, in check), to judge repetition by the letter."""

    def __init__(self) -> None:
        self._plies: list[tuple[object, str, bool]] = []

    def add(self, key: object, turn: str, in_check: bool) -> None:
        self._plies.append((key, turn, in_check))

    def perpetual_checker(self) -> str:
        """Who gave check with every move since the first occurrence of the latest position."""
        key = self._plies[-1][0]
        first = next(index for index, ply in enumerate(self._plies) if ply[0] == key)
        for checker, checked in (("black", "w"), ("white", "b")):
            if all(in_check for _, turn, in_check in self._plies[first + 1 :] if turn == checked):
                return checker
        return "nobody"
