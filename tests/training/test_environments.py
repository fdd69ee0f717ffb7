"""From settings to the games that are played."""

from pathlib import Path

import numpy as np
import pytest
from tiny_runs import tiny_config

from keisei.config_schema import AppConfig
from keisei.errors import ConfigError
from keisei.record.machine_limits import available_cores
from keisei.shogi import NO_ACTION, STANDARD_SFEN, ShogiGame, ShogiVectorEnv
from keisei.training.environments import make_env, play_settings, thread_count

NOWHERE = {
    "env__starts__standard": 0,
    "env__starts__random_prefix": 0,
    "env__starts__earlier": 0,
    "env__starts__sfens": 0,
    "env__starts__sfen_file": None,
}


def env_of(config: AppConfig, games: int = 8) -> ShogiVectorEnv:
    return make_env(config, num_games=games, seed=1, num_threads=1)


def starts_from(path: Path) -> AppConfig:
    return tiny_config(1, **{**NOWHERE, "env__starts__sfens": 1, "env__starts__sfen_file": path})


def test_rules_and_sizes_are_those_of_the_settings() -> None:
    env = env_of(tiny_config(1, env__actions="13527", env__max_plies=17), games=5)
    assert (env.num_games, env.num_actions) == (5, 13527)
    assert env.game(0).max_plies == 17


@pytest.mark.parametrize("mate_in_one", [True, False])
def test_mates_in_one_are_looked_for_only_where_they_are_wanted(mate_in_one: bool) -> None:
    env = env_of(tiny_config(1, training__mate_in_one=mate_in_one), games=64)
    found = 0
    for _ in range(30):
        found += int((env.mate_in_one != NO_ACTION).sum())
        env.step(env.random_actions())
    assert bool(found) == mate_in_one


def test_games_begin_at_the_positions_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "starts.sfen"
    sfens = ["4k4/9/9/9/9/9/9/9/4K4 b G 1", "4k4/9/9/9/9/9/9/9/4K4 w r 1"]
    file.write_text(f"# two positions\n\n  {sfens[0]}  \n{sfens[1]}\n# the end\n")
    env = env_of(starts_from(file), games=32)
    assert {env.game(index).start_sfen for index in range(32)} == set(sfens)


@pytest.mark.parametrize(
    ("weights", "expected"),
    [({"env__starts__standard": 1}, {STANDARD_SFEN}), ({"env__starts__handicap": 1}, None)],
)
def test_weights_choose_the_starts(weights: dict[str, object], expected: set[str] | None) -> None:
    config = tiny_config(1, **{**NOWHERE, **weights})
    found = {ShogiGame(env_of(config, 32).game(index).start_sfen).sfen for index in range(32)}
    if expected is None:
        assert len(found) > 4
        assert STANDARD_SFEN not in found
    else:
        assert found == {ShogiGame(sfen).sfen for sfen in expected}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("4k4/9/9/9/9/9/9/9/4K4 b G 1\nnonsense\n", "line 2.*nonsense.*correct or remove the line"),
        ("4k4/9/9/9/9/9/9/9/9 b G 1\n", "line 1"),
        ("# nothing\n\n", "holds no position; add one SFEN a line"),
        ("", "holds no position"),
    ],
)
def test_a_bad_file_of_starts_is_refused_by_line(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "starts.sfen"
    file.write_text(text)
    with pytest.raises(ConfigError, match=words):
        env_of(starts_from(file))


def test_a_missing_or_unreadable_file_of_starts_is_refused_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"sfen_file.*absent\.sfen.*No such file"):
        env_of(starts_from(tmp_path / "absent.sfen"))
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="sfen_file"):
        env_of(starts_from(tmp_path / "binary"))


def test_settings_that_only_the_engine_can_refuse_are_errors_of_the_settings(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot be set up: .*weights.*correct the settings of env"):
        env_of(tiny_config(1, env__starts__sfens=1e12))


def test_random_plies_must_leave_something_of_a_game() -> None:
    with pytest.raises(ConfigError, match=r"random_prefix_plies 24.*max_plies 24.*use at most 23"):
        tiny_config(1, env__starts__random_prefix=1, env__starts__random_prefix_plies=24)
    unused = tiny_config(1, env__starts__random_prefix=0, env__starts__random_prefix_plies=24)
    assert unused.env.starts.random_prefix_plies == 24


def test_the_seed_decides_the_games() -> None:
    def records(seed: int) -> np.ndarray:
        env = make_env(tiny_config(1), num_games=16, seed=seed, num_threads=1)
        return env.step(env.random_actions()).records.copy()

    assert np.array_equal(records(1), records(1))
    assert not np.array_equal(records(1), records(2))


def test_threads_are_one_a_core_unless_they_are_given() -> None:
    assert thread_count(tiny_config(1, env__num_threads="auto")) == available_cores()
    assert thread_count(tiny_config(1, env__num_threads=3)) == 3


def test_games_are_played_as_the_settings_say() -> None:
    config = tiny_config(
        1,
        training__mate_in_one=False,
        training__opponents__share=0.25,
        record__games_kept_per_update=7,
    )
    settings = play_settings(config)
    assert not settings.mate_in_one
    assert (settings.opponent_share, settings.games_kept) == (0.25, 7)


@pytest.mark.parametrize("flip", [False, True])
def test_games_are_mirrored_where_the_settings_say_so(flip: bool) -> None:
    env = env_of(tiny_config(1, training__flip=flip), games=64)
    assert 0 < env.mirrored.sum() < 64 if flip else not env.mirrored.any()
