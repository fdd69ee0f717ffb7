"""The player for a GPU in its CPU twin: the moves are those of the network, the mates of the engine."""

import numpy as np
import pytest
import torch
from card_rules import NothingFromTheHost
from network_samples import ARCHITECTURES, network
from self_play import ACTIONS, CPU, environment, inference

from keisei.core.device_player import DevicePlayer, Moves, PlayedPositions
from keisei.core.inference import Inference
from keisei.shogi import NO_ACTION, LegalActions, ShogiVectorEnv
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
    expected, moves = env.records.copy(), chooser.moves_in(env.records)
    for ply in range(2):
        expected, lists = env.records.copy(), int(env.legal_counts.sum())
        before = chooser.bytes_uploaded
        chooser.ask(kept.columns(slice(4, 10)), ply)
        assert chooser.bytes_uploaded - before == 6 * (96 + 4 + 2) + 2 * lists
        moves = Moves(*(column.copy() for column in chooser.answer()))
        env.step(moves.action)
    assert np.array_equal(kept.record[1, 4:].numpy(), expected)
    assert np.array_equal(kept.legal[1, 4:].numpy(), legal_mask_bits(expected, ACTIONS))
    for column, chosen in zip((kept.action, kept.log_prob, kept.value), moves, strict=True):
        assert np.array_equal(column[1, 4:].numpy(), chosen)
        assert column.dtype == torch.from_numpy(chosen).dtype
    for table in (kept.record, kept.legal, kept.action, kept.log_prob, kept.value):
        assert not table[2].any()
        assert not table[:, :4].any()


def test_the_seed_decides_and_the_generator_is_the_whole_state() -> None:
    def moves(chooser: DevicePlayer) -> list[int]:
        chooser.ask()
        return chooser.answer().action.tolist()

    env = environment(games=50, mate_in_one=False)
    one, same, other = player(env, 1), player(env, 1), player(env, 2)
    assert moves(one) == moves(same) != moves(other)
    other.generator.set_state(one.generator.get_state())
    assert moves(one) == moves(other)


def test_moves_in_other_positions_are_drawn_among_the_legal_ones_of_the_games() -> None:
    env, others = environment(games=40), environment(games=40, mirror=True)
    for _ in range(6):
        others.step(others.random_actions())
    records = others.records[:30]
    moves = player(env).moves_in(records)
    lists = LegalActions(env.legal_actions[:30], env.legal_counts[:30])
    expected = inference().evaluate(records, lists).log_probs
    chosen = expected.gather(1, torch.from_numpy(moves.action.astype(np.int64))[:, None]).squeeze(1)
    np.testing.assert_allclose(moves.log_prob, chosen.numpy(), atol=TOLERANCE)
    np.testing.assert_allclose(moves.value, inference().values(records), atol=TOLERANCE)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("temperature", [1.0, 2.5])
def test_a_thought_can_be_captured(precision: str, architecture: str, temperature: float) -> None:
    thinker = Inference(network(architecture, ACTIONS), device=CPU, precision=precision)
    chooser = DevicePlayer(thinker, environment(games=6), temperature=temperature, seed=1)
    chooser.ask()
    given = (*vars(chooser).values(), thinker.tables, list(thinker.network.parameters()))
    with NothingFromTheHost(given) as watch:
        chooser._think()
    assert watch.operations > 0


def test_a_thought_is_compiled_as_one_graph_and_stays_the_same() -> None:
    """The real torch.compile without its slow code generator."""
    torch.compiler.reset()
    plain, traced = player(environment(games=6)), player(environment(games=6))
    traced._choose = torch.compile(traced._choose, backend="eager", dynamic=False, fullgraph=True)
    plain.ask()
    traced.ask()
    for expected, found in zip(plain.answer(), traced.answer(), strict=True):
        assert np.array_equal(expected, found)
