"""USI engines as players: legal ones play on, others lose the game and not the match."""

import shlex
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from process_watch import children_with

from keisei.errors import ConfigError, UsiEngineError
from keisei.evaluation import usi_player
from keisei.evaluation.arena import Match, play_match
from keisei.evaluation.openings import random_openings
from keisei.evaluation.players import Closing, RandomPlayer, fixed_player
from keisei.evaluation.usi_player import UsiLimit, UsiPlayer, judge
from keisei.record.machine import find_program
from keisei.shogi import Move, Reason, ShogiGame
from keisei.shogi.notation.game_record import OutsideReason

ROGUE = Path(__file__).parent / "programs" / "rogue_engine.py"
ONE_NODE = UsiLimit(nodes=1)
# Black's king and ten strong pieces stand in the promotion zone.
DECLARABLE = "1+R1K1GGG1/1+R1SSS1S1/2+B3P2/9/9/9/9/4k4/9 b Bgl 1"
NEEDS_FAIRY = pytest.mark.skipif(
    find_program("fairy-stockfish") is None, reason="needs Fairy-Stockfish: apt-get install fairy-stockfish"
)


def rogue(
    behaviour: str, *arguments: object, limit: UsiLimit = ONE_NODE, num_processes: int = 1
) -> UsiPlayer:
    command = shlex.join([sys.executable, str(ROGUE), behaviour, *map(str, arguments)])
    return UsiPlayer(behaviour, command, limit, num_processes=num_processes)


def closing(player: UsiPlayer, game: ShogiGame | None = None) -> Closing:
    (answer,) = player.choose([game or ShogiGame()])
    assert isinstance(answer, Closing)
    return answer


def test_an_engine_plays_a_match_to_its_end() -> None:
    with rogue("polite", num_processes=2) as player:
        match = play_match(player, RandomPlayer(1), random_openings(2, seed=1), max_plies=60)
    assert match.score.games == 4
    assert not any(game.note for game in match.games)


def test_games_are_begun_as_the_engine_can_think_about_them_so_that_results_come_early() -> None:
    ended: list[int] = []
    with rogue("polite", num_processes=1) as player:
        match = Match(player, RandomPlayer(1), random_openings(3, seed=1), max_plies=12)
        match.play(on_games=lambda games: ended.append(len(games)))
    assert ended == [2, 2, 2]


@pytest.mark.parametrize("behaviour", ["illegal", "nonsense", "wordless", "declares"])
def test_an_illegal_answer_loses_the_game_and_is_quoted(behaviour: str) -> None:
    with rogue(behaviour) as player:
        answer = closing(player)
    assert answer.reason is OutsideReason.ILLEGAL_MOVE
    assert answer.note


def test_resigning_loses_the_game() -> None:
    with rogue("resigns") as player:
        match = play_match(player, RandomPlayer(1), random_openings(1, seed=1), max_plies=60)
    assert match.reasons == {"resignation": 2}
    assert match.score.losses == 2


@pytest.mark.parametrize("behaviour", ["hangs on go", "floods"])
def test_an_engine_that_hangs_loses_on_time_and_plays_the_next_game(
    monkeypatch: pytest.MonkeyPatch, behaviour: str
) -> None:
    monkeypatch.setattr(usi_player, "HANG_SECONDS", 0.3)
    with rogue(behaviour) as player:
        for _ in range(2):
            answer = closing(player)
            assert answer.reason is OutsideReason.TIMEOUT
            assert "'bestmove'" in answer.note


def test_an_engine_that_overruns_its_time_by_the_margin_loses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usi_player, "MARGIN_SECONDS", 0.2)
    began = time.monotonic()
    with rogue("hangs on go", limit=UsiLimit(byoyomi=100)) as player:
        assert closing(player).reason is OutsideReason.TIMEOUT
    assert time.monotonic() - began < 30


def test_an_engine_that_dies_is_started_again_and_asked_again(tmp_path: Path) -> None:
    game = ShogiGame()
    with rogue("dies once", tmp_path / "mark") as player:
        (answer,) = player.choose([game])
    assert answer in game.legal_moves()
    assert (tmp_path / "mark").exists()


def test_an_engine_that_dies_twice_of_a_position_loses_that_game() -> None:
    with rogue("dies on go") as player:
        answer = closing(player)
    assert answer.reason is OutsideReason.FORFEIT
    assert "exit status 4" in answer.note


def test_an_engine_that_cannot_be_started_again_loses_its_games(tmp_path: Path) -> None:
    with rogue("dies for good", tmp_path / "mark") as player:
        match = play_match(player, RandomPlayer(1), random_openings(2, seed=1), max_plies=60)
    assert match.reasons == {"forfeit": 4}
    assert match.score.losses == 4
    assert all("exit status 3" in game.note for game in match.games)


def test_a_wrong_command_is_found_before_the_first_game() -> None:
    with pytest.raises(UsiEngineError, match="no program"):
        UsiPlayer("x", "/no/such/engine", ONE_NODE)


def test_many_games_share_few_processes_and_every_answer_belongs_to_its_game() -> None:
    games = [ShogiGame(sfen) for sfen in random_openings(20, seed=3, plies=5)]
    with rogue("polite", num_processes=3) as player:
        answers = player.choose(games)
        assert len(_engines()) <= 3
    assert answers == [game.legal_moves()[0] for game in games]
    assert not _engines()


def test_closing_ends_an_engine_that_still_thinks() -> None:
    player = rogue("hangs on go")
    with ThreadPoolExecutor(1) as asker:
        asked = asker.submit(player.choose, [ShogiGame()])
        while not player._resting.empty():  # until the engine has been taken for the question
            pass
        player.close()
        (answer,) = asked.result(timeout=30)
    assert isinstance(answer, Closing)
    assert answer.reason is OutsideReason.FORFEIT
    assert not _engines()


@pytest.mark.parametrize(
    ("limit", "command"),
    [
        (UsiLimit(nodes=7), "go nodes 7"),
        (UsiLimit(depth=3), "go depth 3"),
        (UsiLimit(byoyomi=250), "go btime 0 wtime 0 byoyomi 250"),
    ],
)
def test_limits_become_go_commands(limit: UsiLimit, command: str) -> None:
    assert limit.command == command


@pytest.mark.parametrize("limits", [{}, {"nodes": 1, "depth": 2}, {"nodes": 0}])
def test_an_engine_has_exactly_one_limit(limits: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="needs one limit of at least 1"):
        UsiLimit(**limits)


def test_a_justified_declaration_wins() -> None:
    game = ShogiGame(DECLARABLE)
    assert judge("win", game) == Closing(Reason.DECLARATION)
    assert judge("5h5i", ShogiGame()) != Closing(Reason.DECLARATION)


def test_a_legal_move_is_played() -> None:
    assert judge("7g7f", ShogiGame()) == Move.from_usi("7g7f")


@NEEDS_FAIRY
def test_fairy_stockfish_beats_greedy_at_full_skill_and_not_at_its_lowest() -> None:
    openings = random_openings(4, seed=1)
    shares = []
    for skill in ("20", "-20"):
        options = {"Skill Level": skill, "Hash": "1"}
        with UsiPlayer("fairy", "fairy-stockfish", UsiLimit(nodes=500), options) as player:
            match = play_match(player, fixed_player("greedy", 1), openings, max_plies=300)
        assert not any(game.note for game in match.games)
        shares.append(match.score.share)
    assert shares[0] > 0.8
    assert shares[1] < 0.2


@NEEDS_FAIRY
@pytest.mark.parametrize("limit", [UsiLimit(depth=1), UsiLimit(byoyomi=50)])
def test_fairy_stockfish_keeps_to_depth_and_time(limit: UsiLimit) -> None:
    with UsiPlayer("fairy", "fairy-stockfish", limit) as player:
        match = play_match(player, RandomPlayer(1), random_openings(1, seed=1), max_plies=12)
    assert set(match.reasons) <= {"max_plies", "checkmate"}


def _engines() -> list[psutil.Process]:
    """The rogue engines that this process has running; other tests have children of their own."""
    return children_with("rogue_engine")
