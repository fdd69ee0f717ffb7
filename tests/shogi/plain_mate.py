"""Forced mates by brute force over a game's own moves: what the native search must find, written the slow way."""

from keisei.shogi import Move, Reason, ShogiGame

ENDS_IN_A_LOSS = (Reason.CHECKMATE, Reason.NO_LEGAL_MOVES)


def plain_mate_in_one(game: ShogiGame) -> set[str]:
    """Every move that mates at once."""
    return {move.usi for move in game.legal_moves() if mates(game, move)}


def mates(game: ShogiGame, move: Move) -> bool:
    game.play(move)
    mated = game.is_in_check and not game.legal_moves()
    game.undo_move()
    return mated


def plain_mate_length(game: ShogiGame, longest: int) -> int | None:
    """Plies of the shortest mate by checks that no defence avoids, up to an odd number of plies."""
    for plies in range(1, longest + 1, 2):
        if attacker_wins(position_only(game), plies):
            return plies
    return None


def position_only(game: ShogiGame) -> ShogiGame:
    """The position without history or ply cap: only mates end it."""
    return ShogiGame(game.sfen.rsplit(" ", 1)[0] + " 1", max_plies=65_000, impasse_rule="off")


def attacker_wins(game: ShogiGame, plies: int) -> bool:
    return any(check_wins(game, move, plies) for move in game.legal_moves())


def check_wins(game: ShogiGame, move: Move, plies: int) -> bool:
    game.play(move)
    wins = game.is_in_check and defender_loses(game, plies - 1)
    game.undo_move()
    return wins


def defender_loses(game: ShogiGame, plies: int) -> bool:
    return all(plies >= 2 and reply_loses(game, move, plies) for move in game.legal_moves())


def reply_loses(game: ShogiGame, move: Move, plies: int) -> bool:
    game.play(move)
    loses = game.outcome is None and attacker_wins(game, plies - 1)
    game.undo_move()
    return loses
