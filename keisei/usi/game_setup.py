"""From a `position` command to a game, however the GUI got there."""

from __future__ import annotations

from typing import Final

from keisei.shogi import ShogiGame
from keisei.shogi.types import DEFAULT_MAX_PLIES
from keisei.usi.protocol import Position

#: Where the GUI names no ply at which the game is drawn, at least so many plies are left to play.
PLIES_AHEAD: Final = 256


def set_up(command: Position, draw_ply: int = 0) -> ShogiGame:
    """Plays the moves of the command; SfenError or IllegalMoveError when they cannot be played.

    ``draw_ply`` is the ply at which the game is drawn, 0 for none. A GUI may go on after we hold the game for drawn or
    won; the position is then played on without its history.
    """
    start_ply = ShogiGame(command.sfen).ply
    open_end = max(DEFAULT_MAX_PLIES, start_ply + len(command.moves) + PLIES_AHEAD)
    game = ShogiGame(command.sfen, max_plies=draw_ply or open_end)
    for move in command.moves:
        if game.outcome is not None and game.legal_moves():
            game = ShogiGame(game.sfen, max_plies=max(open_end, game.max_plies))
        game.play(move)
    return game
