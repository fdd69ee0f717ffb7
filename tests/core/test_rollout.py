"""Self-play against a slow replay with single games: what is stored is what was seen, chosen and scored."""

import dataclasses

import numpy as np
import pytest
import torch
from mirror import mirrored_usi
from network_samples import ARCHITECTURES
from self_play import (
    ACTIONS,
    START,
    Played,
    color_name,
    environment,
    inference,
    is_mirrored,
    play,
    replay,
    settings,
)

from keisei.config_loader import load_config
from keisei.core.experience_buffer import ExperienceBuffer
from keisei.core.inference import Inference
from keisei.core.ppo_agent import PPOAgent
from keisei.core.ppo_loss import masked_log_probs
from keisei.core.random_states import capture_random_states, restore_random_states
from keisei.core.rollout import Rollout
from keisei.core.rollout_rows import RolloutRows
from keisei.shogi import Color, ShogiGame
from keisei.shogi.positions import legal_masks

TOLERANCE = 1e-6


@pytest.fixture(scope="module", params=[False, True], ids=["as it is", "mirrored"])
def played(request: pytest.FixtureRequest) -> Played:
    return play(settings(games_kept=1000), rollouts=2, mirror=request.param)


@pytest.fixture(scope="module")
def against_opponents() -> Played:
    return play(settings(opponent_share=0.7), plies=60, mirror=True)


def policy_of(network: Inference, rows: RolloutRows) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probability of each stored action and value of each stored position, asked for all at once."""
    records = np.ascontiguousarray(rows.record)
    with torch.no_grad():
        output = network.network(network.planes(records))
    log_probs = masked_log_probs(output.policy_logits, torch.from_numpy(legal_masks(records, ACTIONS)))
    chosen = torch.from_numpy(rows.action.astype(np.int64))
    return log_probs.gather(1, chosen[:, None]).squeeze(1), output.value


def test_rows_are_what_a_slow_replay_gives(played: Played) -> None:
    rows = played.rows
    for step in replay(rows):
        at = step.ply, step.column
        assert rows.record[at].tobytes() == step.before.pack()
        assert rows.reward[at] == step.reward
        assert rows.truncated[at] == step.truncated
        assert rows.terminated[at] == (step.done and not step.truncated)
    assert rows.terminated.any()
    assert rows.truncated.any()
    assert rows.learner.all()


def test_g2_board_and_actions_are_rotated_together_for_white(played: Played) -> None:
    """Compact actions are plane × 81 + destination, with the destination as the mover sees it."""
    movers = set()
    for step in replay(played.rows):
        seen = int(played.rows.action[step.ply, step.column]) % 81
        expected = step.move.to_square if step.before.turn is Color.BLACK else 80 - step.move.to_square
        assert seen == expected
        movers.add(step.before.turn)
    assert movers == set(Color)


def test_g2_a_mirrored_game_is_mirrored_in_position_and_action_alike(played: Played) -> None:
    """The environment played the true games; the rows of some of them are their mirror images."""
    kept = iter(game for summary in played.summaries for game in summary.kept)
    ended = sorted(
        (step for step in replay(played.rows) if step.done), key=lambda step: (step.ply, step.column)
    )
    frames = set()
    for step in ended:
        moves = [move.usi for move in step.after.moves]
        true = next(kept)
        assert true.start_sfen == ShogiGame(START).start_sfen
        assert [move.usi for move in true.moves] == (
            [*map(mirrored_usi, moves)] if is_mirrored(step) else moves
        )
        frames.add(is_mirrored(step))
    assert next(kept, None) is None
    assert frames in ({False}, {False, True})


def test_half_of_the_games_are_mirrored_in_a_mirroring_environment() -> None:
    steps = [step for step in replay(play(settings(), games=40, mirror=True).rows) if step.done]
    share = np.mean([is_mirrored(step) for step in steps])
    assert 0.3 < share < 0.7


def test_finished_games_are_told_as_the_replay_saw_them_end(played: Played) -> None:
    told = [game for summary in played.summaries for game in summary.finished]
    ended = sorted(
        (step for step in replay(played.rows) if step.done), key=lambda step: (step.ply, step.column)
    )
    outcomes = [(step.after.outcome, len(step.after.moves)) for step in ended]
    assert [(game.winner, game.reason, game.plies) for game in told] == [
        (color_name(outcome.winner), outcome.reason.value, plies) for outcome, plies in outcomes if outcome
    ]
    assert {game.winner for game in told} == {"black", "white", None}
    assert all((game.opponent, game.points, game.frozen) == ("", None, 0) for game in told)


def test_g4_log_probs_and_values_are_those_of_the_network_on_the_stored_record(played: Played) -> None:
    rows = played.rows.reshape(played.rows.action.size)
    log_probs, values = policy_of(inference(), rows)
    assert np.abs(log_probs.numpy() - rows.log_prob).max() <= TOLERANCE
    assert np.abs(values.numpy() - rows.value).max() <= TOLERANCE


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_g4_the_policy_that_plays_is_the_policy_that_learns(architecture: str) -> None:
    overrides = {
        "model.architecture": architecture,
        "model.blocks": 2,
        "model.channels": 16,
        "env.num_games": 12,
        "training.rollout_plies": 16,
        "training.minibatch_size": 64,
    }
    agent = PPOAgent(load_config(None, overrides).config, torch.device("cpu"))
    rollout = Rollout(environment(mirror=True), settings(), seed=1)
    rows = RolloutRows.allocate(16, 12)
    rollout.play(rows, agent.inference, version=1)
    buffer = ExperienceBuffer(rows.action.size)
    buffer.add_batch(rows)
    buffer.compute_targets(gamma=0.99, lam=0.9)
    figures = agent.learn(buffer, 0.0)
    assert figures["first_ratio_deviation"] <= TOLERANCE
    assert figures["gradient_steps"] > 1
    assert figures["ratio_deviation"] > TOLERANCE, "later minibatches have moved on, so the check can fail"


def test_every_mate_in_one_is_played_and_marked_forced(played: Played) -> None:
    forced = 0
    for step in replay(played.rows):
        has_mate = step.before.mate_in_one() is not None
        assert played.rows.forced[step.ply, step.column] == has_mate
        if has_mate:
            assert step.after.outcome is not None
            assert step.after.outcome.winner is step.before.turn
            forced += 1
    assert forced > 10


def test_nothing_is_forced_when_mate_in_one_is_off() -> None:
    rows = play(settings(mate_in_one=False)).rows
    assert not rows.forced.any()
    assert any(step.before.mate_in_one() for step in replay(rows)), "there were mates to force"


def test_a_frozen_opponent_plays_one_colour_of_its_games_and_its_plies_are_flagged(
    against_opponents: Played,
) -> None:
    rows = against_opponents.rows
    plies_by_game: dict[int, set[tuple[Color, bool]]] = {}
    for step in replay(rows):
        at = step.ply, step.column
        plies_by_game.setdefault(int(rows.game[at]), set()).add((step.before.turn, bool(rows.learner[at])))
    both = {(Color.BLACK, True), (Color.WHITE, True)}
    as_black = {(Color.BLACK, True), (Color.WHITE, False)}
    as_white = {(Color.BLACK, False), (Color.WHITE, True)}
    kinds = [kind for kind in (both, as_black, as_white) for plies in plies_by_game.values() if plies <= kind]
    assert len(kinds) >= len(plies_by_game), "every game is of one of these kinds"
    assert all(kind in plies_by_game.values() for kind in (both, as_black, as_white))
    told = against_opponents.summaries[0].finished
    assert 0.4 < np.mean([game.opponent == "frozen" for game in told]) < 0.95


def test_each_ply_has_the_log_prob_of_the_network_that_chose_it(against_opponents: Played) -> None:
    rows = against_opponents.rows.reshape(against_opponents.rows.action.size)
    for network, plies in ((inference(), rows.learner), (inference(seed=1), ~rows.learner)):
        chosen = rows[plies]
        log_probs, values = policy_of(network, chosen)
        assert np.abs(log_probs.numpy() - chosen.log_prob).max() <= TOLERANCE
        assert np.abs(values.numpy() - chosen.value).max() <= TOLERANCE


def test_without_an_opponent_the_learner_plays_every_ply() -> None:
    rollout = Rollout(environment(), settings(opponent_share=1.0), seed=1)
    rows = RolloutRows.allocate(8, 12)
    rollout.play(rows, inference(), version=1)
    assert rows.learner.all()


def test_g3_a_truncated_game_is_continued_from_its_true_final_position(played: Played) -> None:
    rows, network = played.rows, inference()
    start = float(network.values(np.frombuffer(ShogiGame(START).pack(), np.uint8)[None])[0])
    checked = 0
    for step in replay(rows):
        if step.truncated:
            final = np.frombuffer(step.after.pack(), np.uint8)[None]
            value = float(network.values(final)[0])
            assert rows.next_value[step.ply, step.column] == pytest.approx(value, abs=TOLERANCE)
            assert value != pytest.approx(start, abs=1e-4), "the position after the reset is another one"
            checked += 1
    assert checked > 5


def test_g3_games_that_go_on_behind_the_rollout_are_bootstrapped_from_the_next_position() -> None:
    played = play(settings(), plies=17, mirror=True)
    last = {step.column: step for step in replay(played.rows) if step.ply == 16 and not step.done}
    network = inference()
    for column, step in last.items():
        value = float(network.values(np.frombuffer(step.after.pack(), np.uint8)[None])[0])
        assert played.rows.next_value[16, column] == pytest.approx(value, abs=TOLERANCE)
    assert len(last) > 3


def test_g3_a_game_cut_off_in_the_very_last_row_is_not_bootstrapped_from_the_new_game() -> None:
    played = play(settings(mate_in_one=False), plies=24)
    cut = [step for step in replay(played.rows) if step.ply == 23 and step.truncated]
    network = inference()
    for step in cut:
        value = float(network.values(np.frombuffer(step.after.pack(), np.uint8)[None])[0])
        assert played.rows.next_value[23, step.column] == pytest.approx(value, abs=TOLERANCE)
    assert len(cut) > 3


def test_g3_every_game_has_a_number_of_its_own() -> None:
    rows = play(settings(), rollouts=2).rows
    numbers_of_games: dict[int, list[int]] = {}
    for column in range(rows.game.shape[1]):
        ends = np.concatenate([[0], np.cumsum(rows.ends()[:, column])[:-1]])
        for game in np.unique(ends):
            numbers = np.unique(rows.game[ends == game, column])
            assert len(numbers) == 1
            numbers_of_games.setdefault(int(numbers[0]), []).append(column)
    assert all(len(columns) == 1 for columns in numbers_of_games.values())


def test_numbering_begins_at_the_first_game_that_the_caller_names() -> None:
    rollout = Rollout(environment(), settings(), seed=1, first_game=10_000)
    rows = RolloutRows.allocate(30, 12)
    rollout.play(rows, inference(), version=1)
    assert rows.game[0].tolist() == list(range(10_000, 10_012))
    assert len(np.unique(rows.game)) == rows.game.max() + 1 - 10_000


def test_rows_carry_the_version_of_their_weights(played: Played) -> None:
    assert (played.rows.version[:40] == 1).all()
    assert (played.rows.version[40:] == 2).all()


def test_the_summary_counts_all_plies_and_keeps_only_as_many_games_as_asked() -> None:
    played = play(settings(games_kept=3))
    summary = played.summaries[0]
    assert summary.plies == played.rows.action.size
    assert not summary.stopped
    assert len(summary.kept) == 3 < len(summary.finished)
    assert all(game.outcome is not None for game in summary.kept)


def test_saved_games_go_on_exactly() -> None:
    play_settings = settings(opponent_share=0.5)
    original = Rollout(environment(seed=5, mirror=True), play_settings, seed=5)
    first, second = RolloutRows.allocate(15, 12), RolloutRows.allocate(15, 12)
    original.play(first, inference(), version=1, opponent=inference(seed=1))
    arrays = {name: array.copy() for name, array in original.state_arrays().items()}
    random_states = capture_random_states(original.generators())
    original.play(second, inference(), version=2, opponent=inference(seed=1))

    other = Rollout(environment(seed=77, mirror=True), play_settings, seed=77)
    other.load_state_arrays(arrays)
    restore_random_states(random_states, other.generators())
    again = RolloutRows.allocate(15, 12)
    other.play(again, inference(), version=2, opponent=inference(seed=1))
    for name, array in second.arrays().items():
        assert np.array_equal(array, getattr(again, name)), name
    for name, array in original.state_arrays().items():
        assert np.array_equal(array, other.state_arrays()[name]), name


def test_the_same_seed_plays_the_same_games() -> None:
    one, same = (play(settings(), seed=4, mirror=True).rows for _ in range(2))
    other = play(settings(), seed=5, mirror=True).rows
    assert all(np.array_equal(array, getattr(same, name)) for name, array in one.arrays().items())
    assert not np.array_equal(one.action, other.action)


@pytest.mark.parametrize("plies_before", [0, 5])
def test_a_stop_midway_is_told_and_takes_effect_before_the_next_ply(plies_before: int) -> None:
    env = environment()
    rollout = Rollout(env, settings(mate_in_one=False), seed=1)
    answers = iter([False] * plies_before + [True])
    summary = rollout.play(
        RolloutRows.allocate(10, 12), inference(), version=1, should_stop=lambda: next(answers)
    )
    assert summary.stopped
    assert summary.plies == 0, "incomplete rows are not counted"
    assert env.game(0).ply == plies_before


def test_a_watched_game_is_a_copy() -> None:
    rollout = Rollout(environment(), settings(), seed=1)
    watched = rollout.watched_game()
    watched.play(watched.legal_moves()[0])
    assert rollout.watched_game().ply == 0


def test_settings_are_immutable() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings().mate_in_one = True  # type: ignore[misc]  # that is the point
