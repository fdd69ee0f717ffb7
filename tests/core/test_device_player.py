"""The player for a GPU in its CPU twin: the moves are those of the network, the mates of the engine."""

import numpy as np
import pytest
import torch
from card_rules import NothingFromTheHost
from network_samples import ARCHITECTURES, network
from self_play import ACTIONS, CPU, environment, inference

from keisei.core.device_player import DevicePlayer, Moves, Place, Positions
from keisei.core.inference import Inference
from keisei.core.played_positions import PlayedPositions
from keisei.shogi import NO_ACTION, ShogiVectorEnv
from keisei.shogi.positions import legal_mask_bits

TOLERANCE = 1e-5


def player(env: ShogiVectorEnv, seed: int = 1, temperature: float = 1.0) -> DevicePlayer:
    """Of all games at once."""
    return DevicePlayer(inference(), env.num_games, temperature=temperature, seed=seed)


def moves_in(chooser: DevicePlayer, positions: Positions, place: Place | None = None) -> Moves:
    """That no later question overwrites."""
    chooser.ask(positions, place)
    return Moves(*(column.copy() for column in chooser.answer()))


def log_prob_of(policy: torch.Tensor, moves: Moves) -> np.ndarray:
    return policy.gather(1, torch.from_numpy(moves.action.astype(np.int64))[:, None]).squeeze(1).numpy()


def policy(env: ShogiVectorEnv, temperature: float = 1.0) -> torch.Tensor:
    return (inference().evaluate(env.records, env.legal).log_probs / temperature).log_softmax(dim=1)


@pytest.mark.parametrize("temperature", [1.0, 2.5])
def test_moves_are_legal_or_mates_and_told_with_their_probability(temperature: float) -> None:
    env = environment(games=40, mirror=True)
    chooser = player(env, temperature=temperature)
    mates = 0
    for _ in range(25):
        expected = policy(env, temperature)
        moves = moves_in(chooser, Positions.of(env))
        forced = env.mate_in_one != NO_ACTION
        mates += int(forced.sum())
        assert (moves.action[forced] == env.mate_in_one[forced]).all()
        np.testing.assert_allclose(moves.log_prob, log_prob_of(expected, moves), atol=TOLERANCE)
        np.testing.assert_allclose(moves.value, inference().values(env.records), atol=TOLERANCE)
        env.step(moves.action)  # refuses what is not legal
    assert mates


def test_moves_are_drawn_with_their_probabilities() -> None:
    env = environment(games=2000, mate_in_one=False)
    chooser = player(env)
    counts = np.bincount(moves_in(chooser, Positions.of(env)).action, minlength=ACTIONS)
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
    moves = moves_in(chooser, Positions.of(env))
    np.testing.assert_allclose(moves.value, inference().values(env.records), atol=TOLERANCE)
    env.step(moves.action)  # refuses what is not legal


def test_positions_are_kept_for_the_learner_and_counted_in_bytes() -> None:
    env = environment(games=6, mirror=True)
    chooser = player(env)
    kept = PlayedPositions.allocate(3, 10, ACTIONS, torch.device("cpu"))
    expected, moves = env.records.copy(), moves_in(chooser, Positions.of(env))
    for ply in range(2):
        expected, lists = env.records.copy(), int(env.legal_counts.sum())
        before = chooser.bytes_uploaded
        moves = moves_in(chooser, Positions.of(env), Place(kept.columns(slice(4, 10)), ply))
        assert chooser.bytes_uploaded - before == 6 * (96 + 4 + 2) + 2 * lists
        env.step(moves.action)
    assert np.array_equal(kept.record[1, 4:].numpy(), expected)
    assert np.array_equal(kept.legal[1, 4:].numpy(), legal_mask_bits(expected, ACTIONS))
    for column, chosen in zip((kept.action, kept.log_prob, kept.value), moves, strict=True):
        assert np.array_equal(column[1, 4:].numpy(), chosen)
        assert column.dtype == torch.from_numpy(chosen).dtype
    for table in (kept.record, kept.legal, kept.action, kept.log_prob, kept.value):
        assert not table[2].any()
        assert not table[:, :4].any()


def test_some_games_fill_some_places_and_their_answers_replace_those_of_another_player() -> None:
    env = environment(games=12, mirror=True)
    one, other = player(env, 1), DevicePlayer(inference(seed=5), 7, temperature=1.0, seed=2)
    for games in (np.array([1, 2, 4, 7, 8, 10, 11]), np.array([3, 4, 9])):
        kept = PlayedPositions.allocate(2, 12, ACTIONS, CPU)
        positions, before = Positions.of(env), other.bytes_uploaded
        all_moves = moves_in(one, positions, Place(kept, 1))
        moves = moves_in(other, positions.chosen(games), Place(kept, 1, games))
        lists = int(env.legal_counts[games].sum())
        assert other.bytes_uploaded - before == len(games) * (96 + 8) + 7 * (4 + 2) + 2 * lists
        assert len(moves.action) == len(games)
        for name, column in all_moves._asdict().items():
            column[games] = getattr(moves, name)
            assert np.array_equal(getattr(kept, name)[1].numpy(), column), name
        assert not kept.answer[0].any()
        evaluation = inference(seed=5).evaluate(env.records, env.legal)
        np.testing.assert_allclose(moves.value, evaluation.value[games].numpy(), atol=TOLERANCE)
        log_probs = log_prob_of(evaluation.log_probs[games], moves)
        np.testing.assert_allclose(moves.log_prob, log_probs, atol=TOLERANCE)
        env.step(all_moves.action)  # refuses what is not legal


def test_what_an_earlier_question_left_in_free_places_changes_nothing() -> None:
    env = environment(games=30, mate_in_one=False)
    fresh, used = player(env), player(env)
    moves_in(used, Positions.of(env))
    used.generator.set_state(fresh.generator.get_state())
    few = Positions.of(env).chosen(slice(20, 24))
    for found, expected in zip(moves_in(used, few), moves_in(fresh, few), strict=True):
        assert np.array_equal(found, expected)


def test_the_seed_decides_and_the_generator_is_the_whole_state() -> None:
    def moves(chooser: DevicePlayer) -> list[int]:
        return moves_in(chooser, Positions.of(env)).action.tolist()

    env = environment(games=50, mate_in_one=False)
    one, same, other = player(env, 1), player(env, 1), player(env, 2)
    assert moves(one) == moves(same) != moves(other)
    other.generator.set_state(one.generator.get_state())
    assert moves(one) == moves(other)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("temperature", [1.0, 2.5])
def test_a_thought_can_be_captured(precision: str, architecture: str, temperature: float) -> None:
    thinker = Inference(network(architecture, ACTIONS), device=CPU, precision=precision)
    chooser = DevicePlayer(thinker, 6, temperature=temperature, seed=1)
    chooser.ask(Positions.of(environment(games=4)))
    given = (*vars(chooser).values(), thinker.tables, list(thinker.network.parameters()))
    with NothingFromTheHost(given) as watch:
        chooser._think()
    assert watch.operations > 0


def test_a_thought_is_compiled_as_one_graph_and_stays_the_same() -> None:
    """The real torch.compile without its slow code generator."""
    torch.compiler.reset()
    env = environment(games=6)
    plain, traced = player(env), player(env)
    traced._choose = torch.compile(traced._choose, backend="eager", dynamic=False, fullgraph=True)
    positions = Positions.of(env)
    for expected, found in zip(moves_in(plain, positions), moves_in(traced, positions), strict=True):
        assert np.array_equal(expected, found)
