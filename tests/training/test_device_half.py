"""Half of the games against a frozen opponent that is asked about few of them at once."""

import numpy as np
import pytest
from self_play import ACTIONS, CPU, environment, inference, replay, settings

from keisei.core.device_player import DevicePlayer
from keisei.core.played_positions import PlayedPositions
from keisei.core.rollout import Rollout, RolloutSummary
from keisei.core.rollout_rows import RolloutRows
from keisei.training.device_half import DeviceHalf

GAMES, PLIES = 12, 40
#: Fewer than are cut off.
JUDGED = 3
LEARNER, FROZEN = 0, 1


def half(places: int, share: float = 1.0) -> DeviceHalf:
    return DeviceHalf(
        slice(2, 2 + GAMES),
        Rollout(environment(GAMES, mirror=True), settings(opponent_share=share), seed=3),
        DevicePlayer(inference(LEARNER), GAMES, temperature=1.0, seed=1),
        DevicePlayer(inference(FROZEN), places, temperature=1.0, seed=2),
        DevicePlayer(inference(LEARNER), JUDGED, temperature=1.0, seed=3),
        PlayedPositions.allocate(PLIES, GAMES, ACTIONS, CPU),
    )


def play(player: DeviceHalf, opponent_number: int = 5) -> tuple[RolloutRows, RolloutSummary]:
    rows = RolloutRows.allocate(PLIES, GAMES + 2)
    summary = player.play(rows, 1, opponent_number, lambda: False)
    return rows[:, player.games], summary


@pytest.mark.parametrize("places", [1, 4, GAMES])
def test_every_ply_is_of_the_network_that_moved_however_many_are_asked_at_once(places: int) -> None:
    player = half(places)
    rows, summary = play(player)
    assert (~rows.learner).sum(axis=1).max() > 4, "more than fit into one question"
    for seed, moved in ((LEARNER, rows.learner), (FROZEN, ~rows.learner)):
        evaluation = inference(seed).evaluate(rows.record[moved])
        chosen = evaluation.log_probs.numpy()[np.arange(moved.sum()), rows.action[moved]]
        np.testing.assert_allclose(rows.log_prob[moved], chosen, atol=1e-5)
        np.testing.assert_allclose(rows.value[moved], evaluation.value.numpy(), atol=1e-5)
    for name in ("action", "log_prob", "value"):
        assert np.array_equal(getattr(player.played, name).numpy(), getattr(rows, name)), name
    assert {game.opponent for game in summary.finished} == {"frozen"}
    assert any(game.frozen == 5 for game in summary.finished)


def test_the_learner_plays_one_colour_of_a_game_and_mates_are_played_by_both() -> None:
    rows, _ = play(half(places=4))
    same_game = rows.game[1:] == rows.game[:-1]
    assert (rows.learner[1:] != rows.learner[:-1])[same_game].all()
    assert rows.forced[rows.learner].any()
    assert rows.forced[~rows.learner].any()
    for ply in replay(rows):  # refuses what is not legal
        if rows.forced[ply.ply, ply.column]:
            assert ply.reward == 1


def test_values_behind_the_last_ply_and_of_cut_off_games_are_the_learner_s() -> None:
    player = half(places=4)
    rows, _ = play(player)
    last = inference(LEARNER).values(player.rollout.env.records)
    ends = rows.ends()[-1]
    np.testing.assert_allclose(rows.next_value[-1][~ends], last[~ends], atol=1e-5)
    assert rows.truncated.any()
    assert rows.next_value[rows.truncated].all()


def test_games_without_an_opponent_are_the_learner_s_and_the_frozen_network_is_not_asked() -> None:
    player = half(places=4)
    rows, summary = play(player, opponent_number=0)
    assert rows.learner.all()
    assert {game.opponent for game in summary.finished} == {""}
    assert player.opponent is not None
    assert player.opponent.bytes_uploaded == 0


def test_who_meets_whom_is_drawn_as_on_a_cpu() -> None:
    rows, _ = play(half(places=4, share=0.5))
    expected = RolloutRows.allocate(PLIES, GAMES)
    rollout = Rollout(environment(GAMES, mirror=True), settings(opponent_share=0.5), seed=3)
    rollout.play(expected, inference(LEARNER), version=1, opponent=inference(FROZEN))
    assert np.array_equal(rows.learner[0], expected.learner[0])
    assert not rows.learner[0].all()
