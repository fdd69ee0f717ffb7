"""Many games in one call: the same as game by game."""

import numpy as np
import pytest

from keisei.errors import ActionError, IllegalMoveError
from keisei.shogi import Color, Move, PolicyOutputMapper, Reason, ShogiGame
from keisei.shogi.many_games import moves_of_actions, pack_games, play_moves

MATE_IN_ONE = "4k4/9/4P4/9/9/9/9/9/4K4 b G 1"
# Once White has moved, Black's king in the far three ranks, eleven pieces around it and the hand are enough.
WHITE_MOVES_AND_BLACK_MAY_DECLARE = "2K3G2/GGG1SSS2/+P+P+P+P5/9/9/9/9/9/4k3r w R2B14P 1"


def random_games(count: int, plies: int) -> list[ShogiGame]:
    random = np.random.default_rng(7)
    games = [ShogiGame() for _ in range(count)]
    for number, game in enumerate(games):
        for _ in range(plies + number):
            moves = game.legal_moves()
            game.play(moves[int(random.integers(len(moves)))])
    return games


def test_games_are_packed_as_one_by_one() -> None:
    games = random_games(8, 20)
    assert [row.tobytes() for row in pack_games(games)] == [game.pack() for game in games]
    assert pack_games([]).shape == (0, 96)


@pytest.mark.parametrize("actions", [2187, 13527])
def test_every_index_is_the_move_it_is_alone(actions: int) -> None:
    games = random_games(8, 20)
    mapper = PolicyOutputMapper(actions)
    indices = np.array([mapper.legal_indices(game)[-1] for game in games])
    moves = moves_of_actions(games, actions, indices)
    assert moves == [
        mapper.index_to_move(int(index), game) for index, game in zip(indices, games, strict=True)
    ]


def test_an_index_without_a_move_is_refused_with_its_position() -> None:
    game = ShogiGame()
    legal = int(PolicyOutputMapper(2187).legal_indices(game)[0])
    with pytest.raises(ActionError, match=r"action 2186 of 2187 .* in position 'lnsgkgsnl"):
        moves_of_actions([game, game], 2187, np.array([legal, 2186]))


def test_moves_are_played_and_ends_are_told() -> None:
    mated, running = ShogiGame(MATE_IN_ONE), ShogiGame()
    moves = [Move.from_usi("G*5b"), Move.from_usi("7g7f")]
    assert play_moves([mated, running], moves, declare=True) == [True, False]
    assert mated.outcome is not None
    assert (mated.outcome.winner, mated.outcome.reason) == (Color.BLACK, Reason.CHECKMATE)
    assert [move.usi for move in running.moves] == ["7g7f"]


def test_a_win_is_declared_only_where_it_is_asked_for() -> None:
    games = [ShogiGame(WHITE_MOVES_AND_BLACK_MAY_DECLARE) for _ in range(2)]
    aside = [Move.from_usi("5i6i")]
    assert play_moves(games[:1], aside, declare=True) == [True]
    assert games[0].outcome is not None
    assert (games[0].outcome.winner, games[0].outcome.reason) == (Color.BLACK, Reason.DECLARATION)
    assert play_moves(games[1:], aside, declare=False) == [False]
    assert games[1].can_declare_win()


def test_an_illegal_move_is_refused_and_so_is_one_after_the_end() -> None:
    game = ShogiGame()
    with pytest.raises(IllegalMoveError, match="'5i5e'"):
        play_moves([game], [Move.from_usi("5i5e")], declare=True)
    assert game.moves == []
    game.resign()
    with pytest.raises(IllegalMoveError, match="the game is over"):
        play_moves([game], [Move.from_usi("7g7f")], declare=True)


def test_every_game_needs_a_move() -> None:
    with pytest.raises(ValueError, match="moves has 1 rows instead of 2"):
        play_moves([ShogiGame(), ShogiGame()], [Move.from_usi("7g7f")], declare=True)
