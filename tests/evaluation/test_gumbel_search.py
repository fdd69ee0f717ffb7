"""Search with networks whose opinions are known: it must see what they cannot."""

from random import Random

import pytest
import torch
from network_samples import network
from random_play import SPARSE_SFENS, visited_games, walk
from stand_in_networks import MaterialNetwork, UndefinedNetwork, inference

from keisei.errors import NonFiniteOutputError
from keisei.evaluation.arena import play_match
from keisei.evaluation.gumbel_search import GumbelSearch, SearchPlayer
from keisei.evaluation.openings import random_openings
from keisei.evaluation.players import PolicyPlayer
from keisei.shogi import Color, Move, Reason, ShogiGame, Starts
from keisei.shogi.gumbel_forest import GumbelSettings, Verdict

MATERIAL = inference(MaterialNetwork())
EVERY_MOVE = GumbelSettings(max_considered=593)


def searched(game: ShogiGame, simulations: int, settings: GumbelSettings = EVERY_MOVE) -> GumbelSearch:
    search = GumbelSearch(MATERIAL, [game], settings)
    search.run(simulations)
    return search


def running_games(count: int, seed: int) -> list[ShogiGame]:
    """Positions of random play, with their histories, in which no game is over."""
    games = [game.copy() for game in walk(Random(seed), 4 * count) if game.outcome is None]
    return games[:: max(1, len(games) // count)][:count]


@pytest.mark.parametrize(
    "sfen",
    [
        "4k4/9/4P4/9/9/9/9/9/4K4 b G 1",
        "1k2g4/9/p8/Ng1RG4/9/9/9/9/4K4 b RSN 1",
        "kn+B6/g8/+B2p5/p8/9/9/9/9/4K4 b SP 1",
    ],
)
def test_mates_are_found_and_played_out(sfen: str) -> None:
    game = ShogiGame(sfen)
    while game.outcome is None:
        search = searched(game, 2_000)
        game.play(search.root_moves()[0].move)
    assert (game.outcome.winner, game.outcome.reason) == (Color.BLACK, Reason.CHECKMATE)


def test_a_hanging_piece_is_taken_but_a_guarded_one_is_not() -> None:
    # The rook on 2h can take the pawn on 2d; a gold guards it only in the second position.
    hanging = ShogiGame("4k4/9/9/7p1/9/9/9/7R1/4K4 b - 1")
    guarded = ShogiGame("4k4/9/7g1/7p1/9/9/9/7R1/4K4 b - 1")
    assert searched(hanging, 300).root_moves()[0].move.usi == "2h2d"
    assert searched(guarded, 3_000).root_moves()[0].move.usi not in ("2h2d", "2h2d+")


def test_no_move_allows_a_mate_in_one_where_another_does_not() -> None:
    allowed = avoided = 0
    for game in visited_games(400, seed=2, starts=Starts(standard=0, listed=1, sfens=SPARSE_SFENS)):
        safe = game.moves_without_mating_reply()
        best = searched(game, 64, GumbelSettings()).root_moves()[0]
        if game.mate_in_one() is not None:
            assert best.verdict is Verdict.WIN
        else:
            assert best.move in safe
            avoided += len(safe) < len(game.legal_moves())
            allowed += len(safe) == len(game.legal_moves())
    assert avoided > 20
    assert allowed > 20


@pytest.mark.parametrize(("hands", "draws"), [("2R2B", True), ("2r2b", False)])
def test_the_loser_repeats_and_the_winner_does_not(hands: str, draws: bool) -> None:
    game = ShogiGame(f"4k4/9/9/9/9/9/9/9/4K4 b {hands} 1")
    for number in range(11):
        game.play(("5i4i", "5a4a", "4i5i", "4a5a")[number % 4])
    best = searched(game, 600).root_moves()[0]
    assert (best.move.usi == "4a5a") is draws
    assert (best.verdict is Verdict.DRAW) is draws


@pytest.mark.parametrize("simulations", [0, 1, 2, 17, 100])
def test_whatever_the_effort_the_move_is_legal(simulations: int) -> None:
    games = running_games(40, seed=3)
    for game, move in zip(games, SearchPlayer("s", MATERIAL, simulations).choose(games), strict=True):
        assert move in game.legal_moves()


def test_the_same_seed_plays_the_same_and_another_seed_another_game() -> None:
    mind = inference(network(seed=1))
    games = running_games(30, seed=4)
    first, again, other = (SearchPlayer("s", mind, 16, seed=seed).choose(games) for seed in (7, 7, 8))
    assert first == again
    assert first != other


def test_games_do_not_disturb_each_other() -> None:
    games = running_games(30, seed=5)
    player = SearchPlayer("s", MATERIAL, 40)
    assert player.choose(games) == [player.choose([game])[0] for game in games]


def test_search_changes_neither_the_game_nor_its_history() -> None:
    game = ShogiGame()
    for move in ("7g7f", "3c3d", "2g2f"):
        game.play(move)
    before = (game.sfen, game.moves, game.outcome)
    searched(game, 100)
    assert (game.sfen, game.moves, game.outcome) == before


def test_search_beats_the_policy_of_the_same_network() -> None:
    result = play_match(
        SearchPlayer("search", MATERIAL, 32),
        PolicyPlayer("policy", MATERIAL, temperature=1.0, seed=1),
        random_openings(12, seed=6),
        max_plies=300,
    )
    assert result.score.losses == 0
    assert result.score.interval[0] > 0.5, str(result.score)


def test_a_search_can_be_stopped_and_asked_at_any_time() -> None:
    game = ShogiGame()
    search = GumbelSearch(MATERIAL, [game])
    assert search.root_moves() == []
    search.add_simulations(1_000)
    assert search.step(1) == 1
    assert len(search.root_moves()) == len(game.legal_moves())
    search.run(0, should_stop=lambda: search.simulations() >= 50)
    assert 50 <= search.simulations() < 100
    assert not search.is_finished()
    search.run(0)
    assert search.simulations() == 1_001
    assert search.is_finished()
    line = search.line(search.root_moves()[0].move)
    assert line[0] == search.root_moves()[0].move
    assert search.bytes > 0


def test_the_root_can_be_restricted() -> None:
    only = [Move.from_usi("1g1f"), Move.from_usi("9g9f")]
    search = GumbelSearch(MATERIAL, [ShogiGame()], only=only)
    search.run(20)
    assert {row.move for row in search.root_moves()} == set(only)


@pytest.mark.parametrize("actions", [2187, 13527])
def test_both_action_mappings_find_the_same(actions: int) -> None:
    games = running_games(10, seed=7)
    moves = SearchPlayer("s", inference(MaterialNetwork(actions)), 64).choose(games)
    assert moves == SearchPlayer("s", MATERIAL, 64).choose(games)


def test_answers_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(NonFiniteOutputError, match=r"1 positions are not all finite.*torch\.float32"):
        GumbelSearch(inference(UndefinedNetwork(2187)), [ShogiGame()]).run(1)


def test_the_search_needs_no_gradients() -> None:
    search = GumbelSearch(inference(network()), [ShogiGame()])
    with torch.enable_grad():
        search.run(2)
    assert search.is_finished()
