"""The engine as a process, driven by a scripted GUI."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from small_checkpoints import make_run, save_checkpoint
from usi_client import PATIENCE_SECONDS, UsiClient

from keisei.shogi import Move, ShogiGame

PROGRAM = "from keisei.usi.main import main; main()"
USIOK_SECONDS = 1.0
STOP_SECONDS = 0.1
#: Machines that run many tests at once are not measured: there a limit only has to hold within this factor.
SLACK = 5
QUIET_ERRORS_BYTES = 4_096


def start(*arguments: object, cwd: Path | None = None) -> UsiClient:
    return UsiClient([sys.executable, "-c", PROGRAM, *map(str, arguments)], cwd)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_checkpoint(tmp_path_factory.mktemp("usi"))


@pytest.fixture(scope="module")
def engine(model: Path) -> Iterator[UsiClient]:
    with start(model) as client:
        client.ask("usi", answer="usiok")
        client.ask("setoption name Threads value 1", "isready", answer="readyok")
        yield client


def assert_legal(answer: str, game: ShogiGame) -> None:
    assert Move.from_usi(answer.split()[1]) in game.legal_moves()


def test_the_engine_introduces_itself_within_a_second_and_without_pytorch(model: Path) -> None:
    probe = "import sys; from keisei.usi import main, engine, thinker; assert 'torch' not in sys.modules"
    with UsiClient([sys.executable, "-c", f"{probe}; main.main()", str(model)]) as client:
        sent = client.send("usi")
        answer = client.until("usiok")
        assert answer[-1].seconds - sent < SLACK * USIOK_SECONDS
        client.send("quit")
        assert client.wait() == 0


def test_a_whole_game_is_played(engine: UsiClient) -> None:
    game = ShogiGame(max_plies=40)
    moves: list[str] = []
    engine.send("usinewgame")
    while game.outcome is None:
        position = f"position startpos{' moves ' if moves else ''}{' '.join(moves)}"
        answer = engine.ask(position, "go btime 0 wtime 0 byoyomi 40", answer="bestmove")
        assert_legal(answer, game)
        moves.append(answer.split()[1])
        game.play(moves[-1])
    engine.send("gameover draw")
    assert sum(line.startswith("bestmove") for line in engine.transcript) >= len(moves)


def test_stop_is_answered_at_once(engine: UsiClient) -> None:
    for _ in range(5):
        engine.send("position startpos", "go infinite")
        engine.until("info")
        sent = engine.send("stop")
        heard = engine.until("bestmove")
        assert heard[-1].seconds - sent < SLACK * STOP_SECONDS


def test_a_stop_that_follows_its_go_at_once_is_answered_too(engine: UsiClient) -> None:
    sent = engine.send("position startpos", "go infinite", "stop")
    heard = engine.until("bestmove")
    assert heard[-1].seconds - sent < SLACK * STOP_SECONDS
    assert_legal(heard[-1].text, ShogiGame())


def test_the_clock_is_kept(engine: UsiClient) -> None:
    for byoyomi in (50, 200, 500):
        sent = engine.send("position startpos", f"go btime 0 wtime 0 byoyomi {byoyomi}")
        heard = engine.until("bestmove")
        used = heard[-1].seconds - sent
        assert byoyomi / 1000 / 4 < used < SLACK * byoyomi / 1000


def test_a_storm_of_stops_and_garbage_leaves_one_answer_per_go(engine: UsiClient) -> None:
    before = sum(line.startswith("bestmove") for line in engine.transcript)
    for _ in range(20):
        engine.send(
            "stop", "stop", "position startpos", "go infinite", "garbage", "stop", "stop", "ponderhit"
        )
        engine.until("bestmove")
    engine.send_bytes(b"\xff\xfe\x00\r\n\n  \t\n" + b"x" * 100_000 + b"\n")
    engine.ask("isready", answer="readyok")
    assert sum(line.startswith("bestmove") for line in engine.transcript) == before + 20


def test_carriage_returns_and_tabs_are_no_matter(engine: UsiClient) -> None:
    engine.send_bytes(b"position\tstartpos  moves 7g7f\r\ngo\tnodes   5\r\n")
    game = ShogiGame()
    game.play("7g7f")
    assert_legal(engine.until("bestmove")[-1].text, game)


def test_a_gui_that_ends_the_game_while_we_ponder_is_served(engine: UsiClient) -> None:
    """What ShogiHome does: stop, gameover and isready without waiting for the bestmove."""
    engine.send("position startpos moves 7g7f 3c3d", "go ponder btime 0 wtime 0 byoyomi 100")
    engine.send("stop", "gameover win", "isready")
    heard = [line.text.split()[0] for line in engine.until("readyok")]
    assert [word for word in heard if word != "info"] == ["bestmove", "readyok"]


def test_nothing_but_the_protocol_is_printed(engine: UsiClient) -> None:
    engine.ask("isready", answer="readyok")
    words = {"id", "option", "usiok", "readyok", "info", "bestmove", "checkmate"}
    assert {line.split()[0] for line in engine.transcript} <= words
    assert len(engine.errors()) < QUIET_ERRORS_BYTES


@pytest.mark.parametrize("lines", [[], ["usi"], ["isready"], ["isready", "position startpos", "go infinite"]])
def test_the_end_of_input_ends_the_engine(model: Path, lines: list[str]) -> None:
    with start(model) as client:
        client.send(*lines)
        client.close_input()
        assert client.wait() == 0


def test_quit_ends_the_engine_in_the_middle_of_a_search(model: Path) -> None:
    with start(model) as client:
        client.ask("isready", answer="readyok")
        client.send("position startpos", "go infinite")
        client.until("info")
        client.send("quit")
        assert client.wait() == 0


def test_a_gui_that_goes_away_is_no_error(model: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(model)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"usi\n")
        process.stdin.flush()
        assert b"usiok\n" in iter(process.stdout.readline, b"")
        process.stdout.close()
        process.stdin.write(b"usi\nusi\n")
        process.stdin.flush()
        assert process.wait(PATIENCE_SECONDS) == 0


@pytest.mark.parametrize("arguments", [(), ("auto",)])
def test_the_shipped_network_plays_unless_another_is_named(tmp_path: Path, arguments: tuple[str]) -> None:
    make_run(tmp_path / "runs", "only")
    with start(*arguments, cwd=tmp_path) as client:
        client.ask("isready", answer="readyok")
        assert_legal(client.ask("position startpos", "go nodes 5", answer="bestmove"), ShogiGame())
        client.send("quit")
        assert client.wait() == 0


def test_a_network_that_is_not_there_is_an_error_that_names_those_that_are(tmp_path: Path) -> None:
    with start("nobody", cwd=tmp_path) as client:
        told = client.ask("usi", "isready", answer="info string error")
        assert "networks here: shipped" in told
        assert client.wait() == 1
