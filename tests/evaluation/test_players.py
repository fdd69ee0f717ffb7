"""Players choose legal moves; the fixed ones are what their names say; networks answer in batches as one by one."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import torch

from keisei.config_schema import ModelConfig
from keisei.core.inference import Inference
from keisei.core.model_factory import model_factory
from keisei.errors import ConfigError
from keisei.evaluation.arena import play_match
from keisei.evaluation.ladder import FIXED_ANCHORS
from keisei.evaluation.openings import random_openings
from keisei.evaluation.players import (
    FIXED_PLAYERS,
    GreedyPlayer,
    Player,
    PolicyPlayer,
    RandomPlayer,
    fixed_player,
)
from keisei.evaluation.ratings import elo_difference
from keisei.shogi import PolicyOutputMapper, ShogiGame

QUICK_PLAYERS = [name for name in FIXED_PLAYERS if name not in ("ab4", "ab5", "ab6")]
MATE_IN_ONE = "4k4/9/4P4/9/9/9/9/9/4K4 b G 1"


def inference(actions: int = 2187) -> Inference:
    torch.manual_seed(0)
    model = ModelConfig(architecture="cnn", blocks=1, channels=8, se_ratio=0)
    return Inference(model_factory(model, actions), device=torch.device("cpu"), precision="fp32")


def games(count: int = 12, plies: int = 30) -> list[ShogiGame]:
    """Positions with both colours to move."""
    sfens = random_openings(count, seed=2, plies=plies) + random_openings(count, seed=3, plies=plies + 1)
    return [ShogiGame(sfen) for sfen in sfens]


def players() -> list[Player]:
    return [
        *(fixed_player(name, seed=1) for name in QUICK_PLAYERS),
        PolicyPlayer("likeliest", inference()),
        PolicyPlayer("drawn", inference(), temperature=1.0),
        PolicyPlayer("full mapping", inference(13527)),
    ]


@pytest.mark.parametrize("player", players(), ids=lambda player: player.name)
def test_every_player_answers_every_game_with_a_legal_move(player: Player) -> None:
    asked = games()
    answers = player.choose(asked)
    assert len(answers) == len(asked)
    for game, move in zip(asked, answers, strict=True):
        assert move in game.legal_moves()


@pytest.mark.parametrize("player", players(), ids=lambda player: player.name)
def test_choosing_changes_no_game(player: Player) -> None:
    asked = games(3)
    before = [(game.sfen, game.outcome) for game in asked]
    player.choose(asked)
    assert [(game.sfen, game.outcome) for game in asked] == before


def test_the_random_player_draws_all_legal_moves_equally() -> None:
    moves = RandomPlayer(1).choose([ShogiGame()] * 6000)
    counts = Counter(move.usi for move in moves)
    assert len(counts) == 30
    assert all(count == pytest.approx(200, abs=60) for count in counts.values())


@pytest.mark.parametrize("name", QUICK_PLAYERS)
def test_fixed_players_are_fixed_by_their_seed(name: str) -> None:
    asked = games(4)
    assert fixed_player(name, 5).choose(asked) == fixed_player(name, 5).choose(asked)


def test_the_greedy_player_mates_in_one() -> None:
    game = ShogiGame(MATE_IN_ONE)
    (move,) = GreedyPlayer(1).choose([game])
    game.play(move)
    assert game.outcome is not None
    assert game.outcome.winner is not None


def test_the_greedy_player_takes_the_most_valuable_piece() -> None:
    # The gold can take a rook, a pawn or nothing.
    game = ShogiGame("4k4/9/9/9/4r4/3pG4/9/9/4K4 b - 1")
    assert {GreedyPlayer(seed).choose([game])[0].usi for seed in range(10)} == {"5f5e"}


def test_the_greedy_player_draws_lots_between_equal_moves() -> None:
    asked = [ShogiGame()] * 300
    assert len({move.usi for move in GreedyPlayer(1).choose(asked)}) == 30


def test_a_policy_plays_the_same_in_a_batch_as_alone() -> None:
    player = PolicyPlayer("keisei", inference())
    asked = games()
    assert player.choose(asked) == [player.choose([game])[0] for game in asked]


def test_a_policy_without_temperature_plays_its_likeliest_move() -> None:
    network = inference()
    mapper = PolicyOutputMapper(2187)
    for game, move in zip(games(4), PolicyPlayer("keisei", network).choose(games(4)), strict=True):
        logits = network.evaluate(np.frombuffer(game.pack(), np.uint8)[None]).log_probs[0]
        by_hand = max(game.legal_moves(), key=lambda m: float(logits[mapper.move_to_index(m, game.turn)]))
        assert move == by_hand


def test_temperature_makes_a_policy_vary_and_its_seed_repeats_it() -> None:
    asked = [ShogiGame()] * 40
    drawn = [
        PolicyPlayer("keisei", inference(), temperature=1.0, seed=seed).choose(asked) for seed in (1, 1, 2)
    ]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(set(drawn[0])) > 5
    cold = PolicyPlayer("keisei", inference(), temperature=1e-4, seed=1).choose(asked)
    assert cold == PolicyPlayer("keisei", inference()).choose(asked)


def test_an_unknown_opponent_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"unknown opponent 'greddy'.*'random'.*'greedy'"):
        fixed_player("greddy", 1)


# ---- the order of the fixed players; benchmarks/order.py writes the figures of the long matches down

FEW_PAIRS = {"mate1": 10, "greedy": 10, "ab1": 10, "ab2": 15, "ab3": 6}
MANY_PAIRS = 200


def steps() -> list[object]:
    """Each anchor against the one below it: short matches, and the long ones that prove it."""
    pairings = list(pairwise(FIXED_ANCHORS))
    few = [(weaker, stronger, FEW_PAIRS[stronger]) for weaker, stronger in pairings if stronger in FEW_PAIRS]
    many = [pytest.param(*pairing, MANY_PAIRS, marks=pytest.mark.soak) for pairing in pairings]
    return [*few, *many]


@pytest.mark.parametrize(("weaker", "stronger", "pairs"), steps())
def test_each_fixed_player_beats_the_one_below_it(weaker: str, stronger: str, pairs: int) -> None:
    match = play_match(
        fixed_player(stronger, 1), fixed_player(weaker, 2), random_openings(pairs, seed=11), max_plies=512
    )
    assert elo_difference(match.pair_counts).low > 0
