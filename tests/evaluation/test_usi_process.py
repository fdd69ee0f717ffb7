"""Engines that do not exist, hang, talk rubbish or die: always an answer or an error, never a wait without end."""

import shlex
import sys
import time
from pathlib import Path

import psutil
import pytest
from process_watch import children_with

from keisei.errors import UsiEngineError, UsiEngineSilentError
from keisei.evaluation import usi_process
from keisei.evaluation.usi_process import UsiProcess, position_command
from keisei.record.machine import find_program
from keisei.shogi import HANDICAP_SFENS, ShogiGame

ROGUE = Path(__file__).parent / "programs" / "rogue_engine.py"
PATIENCE_SECONDS = 60.0
NEEDS_FAIRY = pytest.mark.skipif(
    find_program("fairy-stockfish") is None, reason="needs Fairy-Stockfish: apt-get install fairy-stockfish"
)


def rogue(behaviour: str, *arguments: object) -> str:
    return shlex.join([sys.executable, str(ROGUE), behaviour, *map(str, arguments)])


def started(behaviour: str, *arguments: object, **options: str) -> UsiProcess:
    return UsiProcess(rogue(behaviour, *arguments), options)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usi_process, "START_SECONDS", 3.0)


def test_a_well_behaved_engine_answers() -> None:
    engine = started("polite")
    game = ShogiGame()
    game.play("7g7f")
    assert engine.best_move(game, "go nodes 1", PATIENCE_SECONDS) in {move.usi for move in game.legal_moves()}
    engine.close()


@pytest.mark.parametrize("command", ["/no/such/engine", "", "no-such-engine --nodes 3"])
def test_a_command_that_does_not_exist_is_named(command: str) -> None:
    with pytest.raises(
        UsiEngineError, match=r"no program for the engine command .*install it or give its full path"
    ):
        UsiProcess(command, {})


def test_a_command_that_cannot_be_read_is_named() -> None:
    with pytest.raises(UsiEngineError, match="correct its quotes"):
        UsiProcess("engine 'unclosed", {})


def test_a_file_that_is_no_program_is_named(tmp_path: Path) -> None:
    path = tmp_path / "engine"
    path.write_text("this is no program")
    path.chmod(0o755)
    with pytest.raises(UsiEngineError, match=r"cannot start the engine .*Exec format error"):
        UsiProcess(str(path), {})


def test_an_engine_that_ends_at_once_is_quoted() -> None:
    with pytest.raises(UsiEngineError, match=r"exit status 3.*no licence found.*run it by hand"):
        started("ends at once")


@pytest.mark.parametrize(
    ("behaviour", "word"), [("silent", "usiok"), ("rubbish", "usiok"), ("never ready", "readyok")]
)
def test_an_engine_that_does_not_answer_is_given_up(impatient: None, behaviour: str, word: str) -> None:
    with pytest.raises(UsiEngineSilentError, match=f"expected '{word}'"):
        started(behaviour)


@pytest.mark.parametrize("behaviour", ["hangs on go", "floods", "never ends its line"])
def test_a_search_that_never_ends_is_given_up_and_its_process_ended(behaviour: str) -> None:
    engine = started(behaviour)
    began = time.monotonic()
    with pytest.raises(UsiEngineSilentError, match="'bestmove'"):
        engine.best_move(ShogiGame(), "go nodes 1", 0.3)
    engine.kill()
    assert time.monotonic() - began < 30
    assert not _children()


def test_an_engine_that_dies_on_a_question_is_an_error_then_and_later() -> None:
    engine = started("dies on go")
    for _ in range(2):
        with pytest.raises(UsiEngineError, match="exit status 4"):
            engine.best_move(ShogiGame(), "go nodes 1", PATIENCE_SECONDS)
    engine.close()


def test_a_megabyte_on_standard_error_does_not_stop_an_engine() -> None:
    engine = started("shouts")
    assert engine.best_move(ShogiGame(), "go nodes 1", PATIENCE_SECONDS)
    engine.close()


def test_an_answer_that_nobody_asked_for_is_not_taken_for_the_next_one() -> None:
    engine = started("talks twice")
    answers = [engine.best_move(ShogiGame(), "go nodes 1", PATIENCE_SECONDS)]
    while engine._lines.empty():  # the second line of the first answer may still be on its way
        pass
    answers.append(engine.best_move(ShogiGame(), "go nodes 1", PATIENCE_SECONDS))
    assert "1a1b" not in answers
    engine.close()


@pytest.mark.parametrize("behaviour", ["polite", "will not quit"])
def test_nothing_is_left_of_an_engine_that_was_closed(
    monkeypatch: pytest.MonkeyPatch, behaviour: str
) -> None:
    monkeypatch.setattr(usi_process, "QUIT_SECONDS", 0.5)
    engine = started(behaviour)
    assert len(_children()) == 1
    engine.close()
    assert not _children()


def test_options_are_sent_as_the_engine_spells_them(tmp_path: Path) -> None:
    mark = tmp_path / "told"
    options = {
        "usi_hash": "64",
        "book_file": "a b.bin",
        "STYLE": "wild",
        "OwnBook": "false",
        "USI_Ponder": "true",
    }
    started("polite", mark, **options).close()
    assert mark.read_text().splitlines() == [
        "setoption name USI_Hash value 64",
        "setoption name Book File value a b.bin",
        "setoption name Style value wild",
        "setoption name OwnBook value false",
        "setoption name USI_Ponder value true",
    ]


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("Hash", "1", "has no option 'Hash'; it has .*'Book File'"),
        ("USI_Hash", "lots", "cannot be 'lots': a whole number"),
        ("USI_Hash", "4096", "cannot be '4096': a number from 1 to 1024"),
        ("Style", "angry", "one of .*'calm', 'wild'"),
        ("OwnBook", "yes", "true or false"),
    ],
)
def test_options_that_do_not_fit_are_refused_before_the_engine_sees_them(
    name: str, value: str, complaint: str
) -> None:
    with pytest.raises(UsiEngineError, match=complaint):
        started("polite", **{name: value})
    assert not _children()


def test_positions_are_sent_with_their_whole_game() -> None:
    game = ShogiGame()
    assert position_command(game) == "position startpos"
    game.play("7g7f")
    game.play("3c3d")
    assert position_command(game) == "position startpos moves 7g7f 3c3d"
    handicap = ShogiGame(HANDICAP_SFENS["rook"])
    assert position_command(handicap) == f"position sfen {handicap.sfen}"


@NEEDS_FAIRY
def test_fairy_stockfish_plays_a_legal_move_within_its_nodes() -> None:
    engine = UsiProcess("fairy-stockfish", {"Skill Level": "-20", "Hash": "1"})
    game = ShogiGame()
    for _ in range(4):
        game.play(engine.best_move(game, "go nodes 200", PATIENCE_SECONDS))
    assert game.ply == 4
    engine.close()


@NEEDS_FAIRY
def test_fairy_stockfish_is_not_given_a_value_that_would_end_it() -> None:
    with pytest.raises(UsiEngineError, match="a whole number is expected"):
        UsiProcess("fairy-stockfish", {"Skill_Level": "abc"})


def _children() -> list[psutil.Process]:
    """The rogue engines that this process has running; other tests have children of their own."""
    return children_with(str(ROGUE))
