"""Players by description: each word gives the player it names, everything else a clear error."""

import shlex
import sys
from pathlib import Path

import psutil
import pytest
from process_watch import children_with
from small_checkpoints import make_run

from keisei.errors import ConfigError, KeiseiError, UsiEngineError
from keisei.evaluation.player_specs import FAIRY_RUNGS, PlayerSpec, opened_players, spec_of_contender
from keisei.evaluation.players import FIXED_PLAYERS, PolicyPlayer
from keisei.shogi import ShogiGame

ENGINE = shlex.join([sys.executable, str(Path(__file__).parent / "programs" / "rogue_engine.py"), "polite"])


@pytest.mark.parametrize("name", FIXED_PLAYERS)
def test_fixed_players_have_their_names(name: str) -> None:
    with opened_players(name) as (opened,):
        assert opened.player.name == name
        assert opened.network is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("policy:climber", "policy:climber@1#"),
        ("policy:climber?temperature=0.5", "policy:climber@1#"),
        ("value1:climber", "value1:climber@1#"),
        ("search:climber?simulations=4", "search:climber@1#"),
        ("search:climber", "search:climber@1#"),
        ("shipped", "policy:shipped@"),
        ("value1:shipped", "value1:shipped@"),
    ],
)
def test_networks_play_as_described(tmp_path: Path, text: str, name: str) -> None:
    make_run(tmp_path, "climber")
    game = ShogiGame()
    with opened_players(text, runs=tmp_path, device="cpu") as (opened,):
        assert opened.player.name.startswith(name)
        assert opened.network is not None
        assert opened.player.choose([game])[0] in game.legal_moves()


def test_options_that_change_play_are_part_of_the_name(tmp_path: Path) -> None:
    make_run(tmp_path, "climber")
    texts = (
        "policy:climber",
        "policy:climber?temperature=0.5",
        "search:climber",
        "search:climber?simulations=8",
    )
    with opened_players(*texts, runs=tmp_path, device="cpu") as opened:
        names = [entry.player.name for entry in opened]
    assert len(set(names)) == 4
    assert names[1].endswith("?temperature=0.5")
    assert names[2].endswith("?simulations=64")


def test_each_player_has_a_seed_of_its_own() -> None:
    with opened_players("random", "random", seed=5) as (first, second):
        games = [ShogiGame()] * 50
        assert first.player.choose(games) != second.player.choose(games)
    with (
        opened_players("random", seed=6) as (again,),
        opened_players("random", "random", seed=5) as (_, other),
    ):
        assert again.player.choose(games) == other.player.choose(games)


def engines() -> list[psutil.Process]:
    """The engines that this process runs; it may have other children, such as Python's resource tracker."""
    return children_with(ENGINE.split()[-1])


def test_an_engine_lives_as_long_as_the_block() -> None:
    with opened_players(f"usi:{ENGINE}?depth=2&option.Style=wild&option.Book%20File=a%26b") as (opened,):
        assert engines()
        assert opened.player.choose([ShogiGame()])[0] in ShogiGame().legal_moves()
    assert not engines()


def test_engines_that_were_started_end_when_a_later_player_fails() -> None:
    with pytest.raises(UsiEngineError), opened_players(f"usi:{ENGINE}", "usi:/no/such/engine"):
        pass
    assert not engines()


def test_the_command_may_hold_question_marks_and_colons() -> None:
    spec = PlayerSpec.parse("usi:C:/engines/what?.exe --x?nodes=5&option.A=b=c")
    assert (spec.kind, spec.target) == ("usi", "C:/engines/what?.exe --x")
    assert spec.options == {"nodes": "5", "option.A": "b=c"}


@pytest.mark.parametrize("name", FAIRY_RUNGS)
def test_rungs_are_engines_under_a_short_name(name: str) -> None:
    spec = PlayerSpec.parse(name)
    assert (spec.text, spec.kind, spec.target) == (name, "usi", "fairy-stockfish")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "unknown player ''"),
        ("gredy", r"unknown player 'gredy'; did you mean 'greedy'\?"),
        ("ab7", "unknown player 'ab7'"),
        ("greedy?depth=3", "unknown player|takes nothing"),
        ("greedy:", "takes nothing behind its name"),
        ("policy:", "expected a checkpoint or a run"),
        ("usi:", "expected a command"),
        ("policy:x?temprature=1", "unknown option 'temprature'.*temperature"),
        ("policy:x?temperature", "expected NAME=VALUE"),
        ("value1:x?temperature=1", "unknown option 'temperature'"),
        ("usi:x?Hash=1", r"unknown option 'Hash'.*option\.NAME"),
    ],
)
def test_what_is_no_player_is_refused_with_advice(text: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        PlayerSpec.parse(text)


@pytest.mark.parametrize(
    "option", ["temperature=-1", "temperature=warm", "temperature=nan", "temperature=inf"]
)
def test_temperatures_are_numbers_from_0_on(tmp_path: Path, option: str) -> None:
    make_run(tmp_path, "climber")
    with (
        pytest.raises(ConfigError, match="at least 0 for temperature"),
        opened_players(f"policy:climber?{option}", runs=tmp_path),
    ):
        pass


@pytest.mark.parametrize(
    "text", ["search:climber?simulations=0", "search:climber?simulations=1.5", "usi:x?nodes=-3"]
)
def test_counts_are_whole_numbers_from_1_on(tmp_path: Path, text: str) -> None:
    make_run(tmp_path, "climber")
    with pytest.raises(ConfigError, match=r"at least 1|whole number"), opened_players(text, runs=tmp_path):
        pass


def test_an_engine_has_one_limit() -> None:
    with pytest.raises(ConfigError, match="one limit"), opened_players("usi:x?nodes=3&depth=2"):
        pass


def test_a_folder_alone_is_told_how_it_can_play(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"policy:{tmp_path}"):
        PlayerSpec.parse(str(tmp_path))


def test_a_network_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeiseiError, match="nobody"), opened_players("policy:nobody", runs=tmp_path):
        pass


def test_contenders_may_leave_out_how_they_play(tmp_path: Path) -> None:
    make_run(tmp_path, "climber")
    assert spec_of_contender("climber").kind == "policy"
    assert spec_of_contender("search:climber").kind == "search"
    assert spec_of_contender("ab1").kind == "ab1"
    assert spec_of_contender("fairy1").kind == "usi"
    assert spec_of_contender("shipped").kind == "policy"
    with opened_players(spec_of_contender("climber"), runs=tmp_path, device="cpu") as (opened,):
        assert isinstance(opened.player, PolicyPlayer)
