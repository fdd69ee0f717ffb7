"""The Gymnasium vector environment, compared row by row with single games."""

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from keisei.envs.vector import ShogiGymVectorEnv
from keisei.errors import ActionError
from keisei.shogi import PolicyOutputMapper, ShogiGame, Starts

EXAMPLE = Path(__file__).parents[2] / "examples" / "gymnasium_vector.py"
MATE_IN_ONE = "4k4/9/4P4/9/9/9/9/9/4K4 b G 1"


def random_actions(mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.argmax(rng.random(mask.shape) * mask, axis=1)


@pytest.mark.parametrize("actions", ("2187", "13527"))
def test_every_row_is_a_game(actions: str) -> None:
    num_envs, max_plies = 4, 60
    envs = ShogiGymVectorEnv(num_envs, actions=actions, max_plies=max_plies, declare=False, num_threads=2)
    mapper, rng = PolicyOutputMapper(actions), np.random.default_rng(5)
    games = [ShogiGame(max_plies=max_plies) for _ in range(num_envs)]
    observations, info = envs.reset(seed=1)
    ended_games = 0
    for _ in range(130):
        for row, game in enumerate(games):
            np.testing.assert_array_equal(observations[row], game.get_observation())
            np.testing.assert_array_equal(info["action_mask"][row], mapper.legal_mask(game))
        chosen = random_actions(info["action_mask"], rng)
        observations, rewards, terminated, truncated, info = envs.step(chosen)
        for row, game in enumerate(games):
            last, reward, done, game_info = game.make_move(mapper.index_to_move(int(chosen[row]), game))
            assert rewards[row] == reward
            assert truncated[row] == game_info["truncated"]
            assert terminated[row] == (done and not game_info["truncated"])
            if done:
                np.testing.assert_array_equal(info["final_obs"][row], last)
                assert info["final_info"]["reason"][row] == game.outcome.reason
                assert info["_final_obs"][row]
                games[row] = ShogiGame(max_plies=max_plies)
                ended_games += 1
            else:
                assert "final_obs" not in info or info["final_obs"][row] is None
    assert ended_games >= 2 * num_envs


def test_the_reward_is_that_of_the_player_who_just_moved() -> None:
    envs = ShogiGymVectorEnv(2, starts=Starts(standard=0, listed=1, sfens=[MATE_IN_ONE]))
    envs.reset(seed=0)
    mate = PolicyOutputMapper("2187").move_to_index("G*5b", ShogiGame(MATE_IN_ONE).turn)
    observations, rewards, terminated, _, info = envs.step(np.array([mate, mate]))
    assert rewards.tolist() == [1.0, 1.0]
    assert terminated.all()
    # The mated side is the one that would move: it is White, whose plane 42 is zero, and it is in check (45).
    assert info["final_obs"][0][42].max() == 0
    assert info["final_obs"][0][45].min() == 1
    np.testing.assert_array_equal(observations[0], ShogiGame(MATE_IN_ONE).get_observation())


def test_spaces() -> None:
    envs = ShogiGymVectorEnv(3, actions="13527")
    observations, info = envs.reset(seed=0)
    assert envs.observation_space.contains(observations)
    assert envs.single_observation_space.contains(observations[0])
    assert envs.single_action_space == gymnasium.spaces.Discrete(13_527)
    actions = random_actions(info["action_mask"], np.random.default_rng(0))
    assert envs.action_space.contains(actions)
    assert info["action_mask"].shape == (3, 13_527)
    assert info["_action_mask"].all()


def test_autoreset_is_declared_as_it_is_done() -> None:
    envs = ShogiGymVectorEnv(2, max_plies=1)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    first, info = envs.reset(seed=0)
    after, _, _, truncated, _ = envs.step(random_actions(info["action_mask"], np.random.default_rng(0)))
    assert truncated.all()
    np.testing.assert_array_equal(after, first)


def test_gymnasium_wrappers_count_episodes() -> None:
    envs = gymnasium.wrappers.vector.RecordEpisodeStatistics(ShogiGymVectorEnv(4, max_plies=20))
    rng = np.random.default_rng(0)
    _, info = envs.reset(seed=0)
    lengths = []
    for _ in range(60):
        _, _, _, _, info = envs.step(random_actions(info["action_mask"], rng))
        if "episode" in info:
            lengths += info["episode"]["l"][info["_episode"]].tolist()
    assert len(lengths) >= 12
    assert max(lengths) == 20


def test_results_outlive_the_next_step() -> None:
    envs = ShogiGymVectorEnv(2)
    rng = np.random.default_rng(0)
    _, info = envs.reset(seed=0)
    results = envs.step(random_actions(info["action_mask"], rng))
    kept = [array.copy() for array in results[:4]] + [results[4]["action_mask"].copy()]
    info = results[4]
    for _ in range(3):
        info = envs.step(random_actions(info["action_mask"], rng))[4]
    for before, now in zip(kept, [*results[:4], results[4]["action_mask"]], strict=True):
        np.testing.assert_array_equal(before, now)


def test_seeds() -> None:
    starts = Starts(standard=0, random_prefix=1)
    envs, others = ShogiGymVectorEnv(8, starts=starts), ShogiGymVectorEnv(8, starts=starts, num_threads=1)
    first, _ = envs.reset(seed=3)
    same, _ = others.reset(seed=3)
    np.testing.assert_array_equal(first, same)
    assert not np.array_equal(first, envs.reset(seed=4)[0])
    assert not np.array_equal(envs.reset()[0], envs.reset()[0])
    np.testing.assert_array_equal(first, envs.reset(seed=3)[0])


def test_an_illegal_action_steps_no_game() -> None:
    envs = ShogiGymVectorEnv(2, render_mode="ansi")
    _, info = envs.reset(seed=0)
    before = envs.render()
    actions = random_actions(info["action_mask"], np.random.default_rng(0))
    actions[1] = np.flatnonzero(~info["action_mask"][1])[0]
    with pytest.raises(ActionError):
        envs.step(actions)
    assert envs.render() == before


def test_rendering() -> None:
    envs = ShogiGymVectorEnv(2, render_mode="ansi")
    envs.reset(seed=0)
    assert envs.render() == (str(ShogiGame()), str(ShogiGame()))
    drawing, _ = ShogiGymVectorEnv(2, render_mode="svg").render()
    assert ElementTree.fromstring(drawing).tag.endswith("svg")
    with pytest.raises(ValueError, match="render_mode='ansi' or 'svg'"):
        ShogiGymVectorEnv(1).render()
    with pytest.raises(ValueError, match="not 'human'"):
        ShogiGymVectorEnv(1, render_mode="human")


def test_reset_options_are_refused() -> None:
    with pytest.raises(ValueError, match=r"reset takes no options, not \['sfen'\]"):
        ShogiGymVectorEnv(1).reset(options={"sfen": MATE_IN_ONE})


def test_the_example_runs() -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLE, "50"], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.startswith("3200 plies in 64 games")
