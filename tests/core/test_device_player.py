"""The player for a GPU in its CPU twin: the moves are those of the network, the mates of the engine."""

import numpy as np
import pytest
import torch
from self_play import ACTIONS, environment, inference

from keisei.core.device_player import DevicePlayer, PlayedPositions
from keisei.errors import CompilerError
from keisei.shogi import NO_ACTION, ShogiVectorEnv
from keisei.shogi.positions import legal_mask_bits

TOLERANCE = 1e-5


def player(env: ShogiVectorEnv, seed: int = 1, temperature: float = 1.0) -> DevicePlayer:
    return DevicePlayer(inference(), env, temperature=temperature, seed=seed)


def policy(env: ShogiVectorEnv, temperature: float = 1.0) -> torch.Tensor:
    return (inference().evaluate(env.records, env.legal).log_probs / temperature).log_softmax(dim=1)


@pytest.mark.parametrize("temperature", [1.0, 2.5])
def test_moves_are_legal_or_mates_and_told_with_their_probability(temperature: float) -> None:
    env = environment(games=40, mirror=True)
    chooser = player(env, temperature=temperature)
    mates = 0
    for _ in range(25):
        expected = policy(env, temperature)
        chooser.ask()
        moves = chooser.answer()
        forced = env.mate_in_one != NO_ACTION
        mates += int(forced.sum())
        assert (moves.action[forced] == env.mate_in_one[forced]).all()
        chosen = expected.gather(1, torch.from_numpy(moves.action.astype(np.int64))[:, None]).squeeze(1)
        np.testing.assert_allclose(moves.log_prob, chosen.numpy(), atol=TOLERANCE)
        np.testing.assert_allclose(moves.value, inference().values(env.records), atol=TOLERANCE)
        env.step(moves.action)  # refuses what is not legal
    assert mates


def test_moves_are_drawn_with_their_probabilities() -> None:
    env = environment(games=2000, mate_in_one=False)
    chooser = player(env)
    chooser.ask()
    counts = np.bincount(chooser.answer().action, minlength=ACTIONS)
    expected = policy(env)[0].exp().numpy() * env.num_games
    assert counts[expected == 0].sum() == 0
    likely = expected > 5
    assert likely.sum() > 10
    statistic = ((counts - expected)[likely] ** 2 / expected[likely]).sum()
    assert statistic < likely.sum() + 5 * np.sqrt(2 * likely.sum())


def test_values_of_any_positions_are_the_network_s_and_leave_the_games_alone() -> None:
    env = environment(games=6, mirror=True)
    chooser = player(env)
    others = environment(games=20)
    for _ in range(4):
        others.step(others.random_actions())
    values = chooser.values(others.records)  # more than fit into one question
    np.testing.assert_allclose(values, inference().values(others.records), atol=TOLERANCE)
    chooser.ask()
    moves = chooser.answer()
    np.testing.assert_allclose(moves.value, inference().values(env.records), atol=TOLERANCE)
    env.step(moves.action)  # refuses what is not legal


def test_positions_are_kept_for_the_learner_and_counted_in_bytes() -> None:
    env = environment(games=6, mirror=True)
    chooser = player(env)
    kept = PlayedPositions.allocate(3, 10, ACTIONS, torch.device("cpu"))
    expected = env.records.copy()
    for ply in range(2):
        expected, lists = env.records.copy(), int(env.legal_counts.sum())
        before = chooser.bytes_uploaded
        chooser.ask(kept.columns(slice(4, 10)), ply)
        assert chooser.bytes_uploaded - before == 6 * (96 + 4 + 2) + 2 * lists
        env.step(chooser.answer().action)
    assert np.array_equal(kept.record[1, 4:].numpy(), expected)
    assert np.array_equal(kept.legal[1, 4:].numpy(), legal_mask_bits(expected, ACTIONS))
    assert not kept.record[2].any()
    assert not kept.record[:, :4].any()


def test_the_seed_decides_and_the_generator_is_the_whole_state() -> None:
    def moves(chooser: DevicePlayer) -> list[int]:
        chooser.ask()
        return chooser.answer().action.tolist()

    env = environment(games=50, mate_in_one=False)
    one, same, other = player(env, 1), player(env, 1), player(env, 2)
    assert moves(one) == moves(same) != moves(other)
    other.generator.set_state(one.generator.get_state())
    assert moves(one) == moves(other)


@pytest.mark.parametrize("temperature", [1.0, 2.5])
def test_a_player_that_sees_another_board_is_found_out(temperature: float) -> None:
    network, env = inference(), environment(games=40, mirror=True)
    for _ in range(15):
        env.step(env.random_actions())
    DevicePlayer(network, env, temperature=temperature, seed=1).check()
    network.piece_table = network.piece_table.roll(1, dims=1)
    with pytest.raises(
        CompilerError, match=r"differ from the plain network's by .*training\.compile to false"
    ):
        DevicePlayer(network, env, temperature=temperature, seed=1).check()
