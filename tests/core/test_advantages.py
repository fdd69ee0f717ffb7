"""Two-player advantages against slow references and the laws that they must obey."""

from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from joint_sums import with_joint_sums
from numpy.typing import NDArray

from keisei.core.advantages import (
    ADVANTAGE_STD_FLOOR,
    Gae,
    draw_mass,
    normalise_advantages,
    two_player_gae,
)

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Game(NamedTuple):
    """The inputs of ``two_player_gae``, each ``[T, N]``."""

    rewards: Floats
    values: Floats
    next_values: Floats
    terminated: Bools
    truncated: Bools
    learner: Bools


def random_game(seed: int, plies: int, games: int, learner_share: float) -> Game:
    generator = np.random.default_rng(seed)
    shape = (plies, games)
    ends = generator.random(shape) < 0.25
    terminated = ends & (generator.random(shape) < 0.5)
    return Game(
        rewards=np.where(terminated, generator.integers(-1, 2, shape), 0).astype(np.float64),
        values=generator.uniform(-1, 1, shape),
        next_values=generator.uniform(-1, 1, shape),
        terminated=terminated,
        truncated=ends & ~terminated,
        learner=generator.random(shape) < learner_share,
    )


games = st.builds(
    random_game,
    seed=st.integers(0, 2**32 - 1),
    plies=st.integers(1, 14),
    games=st.integers(1, 4),
    learner_share=st.sampled_from([0.0, 0.5, 1.0]),
)
self_play = st.builds(
    random_game,
    seed=st.integers(0, 2**32 - 1),
    plies=st.integers(1, 14),
    games=st.integers(1, 4),
    learner_share=st.just(1.0),
)
shares = st.floats(0, 1)


def slow_result(game: Game, ply: int, column: int, gamma: float) -> float:
    """What ply ``ply`` leads to in its mover's view: walk on to the next ply of the learner, or the end."""
    result, weight = float(game.rewards[ply, column]), 1.0
    while not game.terminated[ply, column]:
        weight *= -gamma
        if game.truncated[ply, column] or ply == len(game.values) - 1:
            return result + weight * float(game.next_values[ply, column])
        ply += 1
        if game.learner[ply, column]:
            return result + weight * float(game.values[ply, column])
        result += weight * float(game.rewards[ply, column])
    return result


def slow_advantage(game: Game, start: int, column: int, gamma: float, lam: float) -> float:
    """The sum of all later surprises of the same game, weighted and with alternating signs."""
    total = 0.0
    for ply in range(start, len(game.values)):
        if game.learner[ply, column]:
            surprise = slow_result(game, ply, column, gamma) - float(game.values[ply, column])
            total += (-gamma * lam) ** (ply - start) * surprise
        if game.terminated[ply, column] or game.truncated[ply, column]:
            break
    return total


def one_player_gae(game: Game, gamma: float, lam: float) -> Floats:
    """Self-play as Black sees it, by the textbook recursion of one player, turned back to the mover."""
    plies, columns = game.values.shape
    advantages = np.zeros_like(game.values)
    for column in range(columns):
        sign = np.where(np.arange(plies) % 2 == column % 2, 1.0, -1.0)  # Black moves first in even columns
        values, rewards = sign * game.values[:, column], sign * game.rewards[:, column]
        later = 0.0
        for t in reversed(range(plies)):
            done = game.terminated[t, column] or game.truncated[t, column]
            cut = done or t == plies - 1
            following = -sign[t] * game.next_values[t, column] if cut else values[t + 1]
            delta = rewards[t] + gamma * (not game.terminated[t, column]) * following - values[t]
            later = delta + gamma * lam * (not cut) * later
            advantages[t, column] = sign[t] * later
    return advantages


@given(games, shares, shares)
def test_matches_the_sum_over_all_later_plies(game: Game, gamma: float, lam: float) -> None:
    result = two_player_gae(*game, gamma=gamma, lam=lam)
    for ply, column in np.ndindex(game.values.shape):
        expected = slow_advantage(game, ply, column, gamma, lam) if game.learner[ply, column] else 0.0
        assert result.advantages[ply, column] == pytest.approx(expected, abs=1e-12)


@given(self_play, shares, shares)
def test_g1_gae_changes_sign_between_players(game: Game, gamma: float, lam: float) -> None:
    """The mover's view with sign changes is the textbook recursion in Black's view."""
    result = two_player_gae(*game, gamma=gamma, lam=lam)
    np.testing.assert_allclose(result.advantages, one_player_gae(game, gamma, lam), atol=1e-12)


@given(games, shares, shares)
def test_g1_swapping_the_colours_negates(game: Game, gamma: float, lam: float) -> None:
    swapped = game._replace(rewards=-game.rewards, values=-game.values, next_values=-game.next_values)
    result, negated = (two_player_gae(*each, gamma=gamma, lam=lam) for each in (game, swapped))
    np.testing.assert_array_equal(negated.advantages, -result.advantages)
    np.testing.assert_array_equal(negated.returns, -result.returns)


def mate_line(plies: int) -> Game:
    """One game that its last mover wins, with a value head that knows nothing."""
    shape = (plies, 1)
    last = np.arange(plies)[:, None] == plies - 1
    nothing = np.zeros(shape)
    return Game(last.astype(np.float64), nothing, nothing, last, np.zeros(shape, bool), np.ones(shape, bool))


@given(st.integers(1, 20))
def test_g1_forced_mate_line_alternates(plies: int) -> None:
    advantages = two_player_gae(*mate_line(plies), gamma=1.0, lam=1.0).advantages[:, 0]
    np.testing.assert_array_equal(advantages[::-1], [(-1.0) ** distance for distance in range(plies)])


def test_an_earlier_mate_is_worth_more() -> None:
    advantages = two_player_gae(*mate_line(5), gamma=0.9, lam=1.0).advantages[:, 0]
    np.testing.assert_allclose(advantages, [0.9**4, -(0.9**3), 0.9**2, -0.9, 1.0])


@given(games, shares)
def test_lambda_one_is_the_discounted_return_minus_the_value(game: Game, gamma: float) -> None:
    result = two_player_gae(*game, gamma=gamma, lam=1.0)
    for start, column in np.argwhere(game.learner):
        discounted, weight = 0.0, 1.0
        for ply in range(start, len(game.values)):
            discounted += weight * game.rewards[ply, column]
            weight *= -gamma
            if game.terminated[ply, column]:
                break
            if game.truncated[ply, column] or ply == len(game.values) - 1:
                discounted += weight * game.next_values[ply, column]
                break
        assert result.returns[start, column] == pytest.approx(discounted, abs=1e-12)
        expected = discounted - game.values[start, column]
        assert result.advantages[start, column] == pytest.approx(expected, abs=1e-12)


@given(self_play, shares)
def test_lambda_zero_looks_one_ply_ahead(game: Game, gamma: float) -> None:
    result = two_player_gae(*game, gamma=gamma, lam=0.0)
    for ply, column in np.ndindex(game.values.shape):
        assert result.returns[ply, column] == pytest.approx(slow_result(game, ply, column, gamma), abs=1e-12)


def single_ply(*, terminated: bool, truncated: bool) -> Game:
    def cell(value: float | bool) -> NDArray[np.generic]:
        return np.array([[value]])

    return Game(cell(0.0), cell(0.25), cell(0.5), cell(terminated), cell(truncated), cell(True))  # type: ignore[arg-type]


def test_g3_truncation_bootstraps_and_termination_does_not() -> None:
    truncated = two_player_gae(*single_ply(terminated=False, truncated=True), gamma=0.9, lam=0.8)
    terminated = two_player_gae(*single_ply(terminated=True, truncated=False), gamma=0.9, lam=0.8)
    assert truncated.advantages.item() == pytest.approx(0.0 - 0.9 * 0.5 - 0.25)
    assert terminated.advantages.item() == pytest.approx(0.0 - 0.25)


@given(games, shares, shares)
def test_g3_next_values_are_read_only_at_truncations_and_in_the_last_row(
    game: Game, gamma: float, lam: float
) -> None:
    read = game.truncated.copy()
    read[-1] |= ~game.terminated[-1]
    poisoned = game._replace(next_values=np.where(read, game.next_values, np.nan))
    assert_same(two_player_gae(*game, gamma=gamma, lam=lam), two_player_gae(*poisoned, gamma=gamma, lam=lam))


def assert_same(one: Gae, other: Gae) -> None:
    np.testing.assert_array_equal(one.advantages, other.advantages)
    np.testing.assert_array_equal(one.returns, other.returns)


@given(games, shares, shares, st.data())
def test_g3_games_are_never_mixed(game: Game, gamma: float, lam: float, data: st.DataObject) -> None:
    """Whatever happens in one game, no row of another one changes."""
    ends = game.terminated | game.truncated
    number = np.zeros(game.values.shape, int)
    number[1:] = np.cumsum(ends, axis=0)[:-1]
    number += np.arange(game.values.shape[1]) * (len(game.values) + 1)
    chosen = number == data.draw(st.sampled_from(sorted(set(number.flat))))
    changed = game._replace(
        rewards=np.where(chosen, 7.0, game.rewards),
        values=np.where(chosen, 5.0, game.values),
        next_values=np.where(chosen, 3.0, game.next_values),
    )
    before, after = (two_player_gae(*each, gamma=gamma, lam=lam) for each in (game, changed))
    np.testing.assert_array_equal(after.advantages[~chosen], before.advantages[~chosen])
    np.testing.assert_array_equal(after.returns[~chosen], before.returns[~chosen])


@given(games, shares, shares)
def test_the_opponents_plies_have_no_say(game: Game, gamma: float, lam: float) -> None:
    """A frozen opponent's values are another network's: they are never read, and it learns nothing."""
    foreign = game._replace(values=np.where(game.learner, game.values, np.nan))
    result = two_player_gae(*foreign, gamma=gamma, lam=lam)
    assert_same(result, two_player_gae(*game, gamma=gamma, lam=lam))
    assert not result.advantages[~game.learner].any()
    assert not result.returns[~game.learner].any()


def test_a_loss_by_the_opponents_mate_reaches_the_learner() -> None:
    game = mate_line(2)._replace(learner=np.array([[True], [False]]), values=np.array([[0.5], [0.9]]))
    advantages = two_player_gae(*game, gamma=1.0, lam=0.5).advantages
    np.testing.assert_array_equal(advantages, [[-1.5], [0.0]])


@settings(max_examples=30)
@given(games, shares, shares)
def test_returns_of_bounded_values_are_bounded(game: Game, gamma: float, lam: float) -> None:
    returns = two_player_gae(*game, gamma=gamma, lam=lam).returns
    assert np.abs(returns).max() <= 1 + 1e-12


def test_keeps_the_precision_it_is_given() -> None:
    game = random_game(0, 5, 3, 1.0)
    single = Game(*(array.astype(np.float32) if array.dtype == float else array for array in game))
    assert two_player_gae(*single, gamma=0.9, lam=0.9).advantages.dtype == np.float32
    assert two_player_gae(*game, gamma=0.9, lam=0.9).advantages.dtype == np.float64


def test_draw_mass_fades_backwards_from_true_draws_only() -> None:
    column = np.array([[0.0], [0.0], [0.0], [1.0], [0.0], [0.0], [0.0]])
    terminated = np.array([[False], [False], [True], [True], [False], [False], [False]])
    truncated = np.array([[False], [False], [False], [False], [False], [True], [False]])
    mass = draw_mass(column, terminated, truncated, lam=0.5)
    np.testing.assert_array_equal(mass[:, 0], [0.25, 0.5, 1.0, 0.0, 0.0, 0.0, 0.0])


@given(games, shares)
def test_draw_mass_matches_a_walk_to_the_end(game: Game, lam: float) -> None:
    mass = draw_mass(game.rewards, game.terminated, game.truncated, lam=lam)
    for start, column in np.ndindex(game.values.shape):
        ends = (game.terminated | game.truncated)[start:, column]
        distance = int(ends.argmax()) if ends.any() else None
        drawn = (
            distance is not None
            and game.terminated[start + distance, column]
            and game.rewards[start + distance, column] == 0
        )
        assert mass[start, column] == pytest.approx(lam**distance if drawn and distance is not None else 0.0)


def test_normalised_advantages_have_mean_0_and_deviation_1_over_the_used_rows() -> None:
    generator = np.random.default_rng(1)
    advantages = generator.normal(3.0, 2.0, (40, 5))
    used = generator.random((40, 5)) < 0.6
    normalised = normalise_advantages(advantages, used)
    assert normalised[used].mean() == pytest.approx(0.0, abs=1e-12)
    assert normalised[used].std() == pytest.approx(1.0)
    assert not normalised[~used].any()
    order = np.argsort(advantages[used])
    assert (np.diff(normalised[used][order]) > 0).all()


def test_normalisation_does_not_blow_up_noise() -> None:
    advantages = np.array([1e-6, -1e-6, 1e-6, -1e-6])
    used = np.ones(4, bool)
    np.testing.assert_allclose(normalise_advantages(advantages, used), advantages / ADVANTAGE_STD_FLOOR)


def test_normalisation_of_no_rows_is_nothing() -> None:
    assert not normalise_advantages(np.ones(3), np.zeros(3, bool)).any()


@pytest.mark.parametrize("used_share", [0.6, 0.0])
def test_processes_normalise_as_one_that_has_all_rows(used_share: float) -> None:
    generator = np.random.default_rng(2)
    parts = [generator.normal(3.0, 2.0, 40), generator.normal(-1.0, 0.1, 7)]
    used = [generator.random(40) < 0.6, generator.random(7) < used_share]
    found = with_joint_sums(
        [
            lambda add_up, part=part, chosen=chosen: normalise_advantages(
                part, chosen, lambda numbers: add_up(torch.from_numpy(numbers)).numpy()
            )
            for part, chosen in zip(parts, used, strict=True)
        ]
    )
    expected = normalise_advantages(np.concatenate(parts), np.concatenate(used))
    np.testing.assert_allclose(np.concatenate(found), expected, atol=1e-12)
