"""The PettingZoo environment: its conventions, and the rules of the game behind them."""

import pickle
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from pettingzoo.test import api_test, seed_test

from keisei.envs import shogi_v0
from keisei.errors import ActionError
from keisei.shogi import HANDICAP_SFENS, STANDARD_SFEN, PolicyOutputMapper, ShogiGame

EXAMPLE = Path(__file__).parents[2] / "examples" / "pettingzoo_random_game.py"
MATE_IN_ONE = "4k4/9/4P4/9/9/9/9/9/4K4 b G 1"
MAY_DECLARE = "4K4/+P+P+P+P+P+P+P+P+P/+R+R+B+B5/9/9/9/9/9/4k4 w 2P 1"
BOARD_AND_HANDS = slice(0, 42)


def action(env: shogi_v0.ShogiEnv, usi: str) -> int:
    mapper = PolicyOutputMapper(env.action_space("black").n)
    return mapper.move_to_index(usi, env.game.turn)


@pytest.mark.filterwarnings("ignore:Observation:UserWarning", "ignore:We recommend agents:UserWarning")
@pytest.mark.parametrize(
    "options", ({}, {"actions": "13527", "max_plies": 40}, {"sfen": HANDICAP_SFENS["lance"]})
)
@pytest.mark.parametrize("make", (shogi_v0.env, shogi_v0.raw_env))
def test_pettingzoo_api(make, options) -> None:
    api_test(make(**options), num_cycles=300)


def test_pettingzoo_seeds() -> None:
    seed_test(shogi_v0.env, num_cycles=300)


def test_masks_and_observations_are_those_of_the_game() -> None:
    rng = np.random.default_rng(1)
    env, game, mapper = shogi_v0.raw_env(), ShogiGame(), PolicyOutputMapper("2187")
    env.reset()
    while game.outcome is None and game.ply < 100:
        seen = env.observe(env.agent_selection)
        np.testing.assert_array_equal(seen["observation"], game.get_observation())
        np.testing.assert_array_equal(seen["action_mask"].astype(bool), mapper.legal_mask(game))
        assert env.observation_space("black").contains(seen)
        chosen = int(rng.choice(np.flatnonzero(seen["action_mask"])))
        game.make_move(mapper.index_to_move(chosen, game))
        env.step(chosen)
        assert env.agent_selection == shogi_v0.AGENTS[game.turn]
    assert env.game == game


def test_the_waiting_agent_sees_the_board_from_its_own_side() -> None:
    env = shogi_v0.raw_env()
    env.reset()
    for usi in ("7g7f", "3c3d", "8h2b+", "3a2b", "B*5e", "2b3c"):
        env.step(action(env, usi))
        waiting = shogi_v0.AGENTS[env.game.turn.opponent]
        seen = env.observe(waiting)
        turned = ShogiGame(with_the_other_side_to_move(env.game.sfen))
        np.testing.assert_array_equal(
            seen["observation"][BOARD_AND_HANDS], turned.get_observation()[BOARD_AND_HANDS]
        )
        assert seen["action_mask"].sum() == 0


def with_the_other_side_to_move(sfen: str) -> str:
    board, turn, hands, number = sfen.split()
    return f"{board} {'w' if turn == 'b' else 'b'} {hands} {number}"


def test_mate_rewards_the_winner_and_ends_the_game_for_both() -> None:
    env = shogi_v0.env(sfen=MATE_IN_ONE)
    env.reset()
    env.step(action(env.unwrapped, "G*5b"))
    assert env.rewards == {"black": 1.0, "white": -1.0}
    assert env.terminations == {"black": True, "white": True}
    assert env.truncations == {"black": False, "white": False}
    assert env.infos["white"] == {"reason": "checkmate"}
    earned = {}
    for agent in env.agent_iter():
        _, earned[agent], _, _, _ = env.last()
        env.step(None)
    assert earned == {"black": 1.0, "white": -1.0}
    assert env.agents == []


def test_the_ply_cap_truncates_without_reward() -> None:
    env = shogi_v0.raw_env(max_plies=2)
    env.reset()
    env.step(action(env, "7g7f"))
    assert not any(env.truncations.values())
    env.step(action(env, "3c3d"))
    assert env.truncations == {"black": True, "white": True}
    assert env.terminations == {"black": False, "white": False}
    assert env.rewards == {"black": 0.0, "white": 0.0}


@pytest.mark.parametrize(
    ("options", "ends"),
    (
        ({}, True),
        ({"declare": False}, False),
        ({"impasse_rule": "off"}, False),
        ({"impasse_rule": "csa24"}, True),
    ),
)
def test_a_declarable_win_ends_the_game_when_asked_to(options, ends: bool) -> None:
    env = shogi_v0.raw_env(sfen=MAY_DECLARE, **options)
    env.reset()
    env.step(action(env, "5i5h"))
    assert env.terminations["black"] is ends
    assert env.rewards["black"] == float(ends)


def test_an_illegal_move_loses_in_the_guarded_environment_only() -> None:
    env = shogi_v0.env()
    env.reset()
    illegal = int(np.flatnonzero(env.observe("black")["action_mask"] == 0)[0])
    env.step(illegal)
    assert env.terminations == {"black": True, "white": True}
    assert env.rewards == {"black": shogi_v0.ILLEGAL_REWARD, "white": 0}
    raw = shogi_v0.raw_env()
    raw.reset()
    with pytest.raises(ActionError):
        raw.step(illegal)
    with pytest.raises(ActionError, match="black is to move and needs an action"):
        raw.step(None)
    assert raw.game == ShogiGame()


def test_start_positions() -> None:
    env = shogi_v0.raw_env(sfen=HANDICAP_SFENS["two_piece"])
    env.reset()
    assert env.agent_selection == "white"
    env.reset(options={"sfen": STANDARD_SFEN})
    assert env.agent_selection == "black"
    env.reset()
    assert env.agent_selection == "white"


def test_a_second_game_starts_clean() -> None:
    env = shogi_v0.raw_env(sfen=MATE_IN_ONE)
    for _ in range(2):
        env.reset()
        assert env.agents == ["black", "white"]
        assert not any(env.terminations.values())
        env.step(action(env, "G*5b"))
        assert all(env.terminations.values())


def test_rendering() -> None:
    env = shogi_v0.env(render_mode="ansi")
    env.reset()
    assert env.render() == str(ShogiGame())
    env = shogi_v0.env(render_mode="svg")
    env.reset()
    env.step(action(env.unwrapped, "7g7f"))
    drawing = ElementTree.fromstring(env.render())
    assert len(drawing.findall("{http://www.w3.org/2000/svg}rect[@class='last']")) == 2
    silent = shogi_v0.raw_env()
    silent.reset()
    with pytest.warns(UserWarning, match="render_mode='ansi' or 'svg'"):
        assert silent.render() is None
    with pytest.raises(ValueError, match="render_mode must be None, 'ansi' or 'svg', not 'human'"):
        shogi_v0.raw_env(render_mode="human")


def test_pickling_keeps_the_settings() -> None:
    env = pickle.loads(pickle.dumps(shogi_v0.raw_env("ansi", actions="13527", max_plies=7)))
    assert (env.render_mode, env.action_space("white").n, env.game.max_plies) == ("ansi", 13_527, 7)


def test_the_example_runs() -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLE, "3"], capture_output=True, text=True, check=True, timeout=60
    )
    assert "plies: black" in done.stdout.splitlines()[-1]


@pytest.mark.parametrize("package", ("gymnasium", "pettingzoo"))
def test_a_missing_package_is_named_with_the_command_that_installs_it(package: str) -> None:
    program = f"import sys; sys.modules[{package!r}] = None; import keisei.envs.shogi_v0"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 1
    assert f"needs the package '{package}'" in done.stderr
    assert "pip install 'keisei[envs]'" in done.stderr
