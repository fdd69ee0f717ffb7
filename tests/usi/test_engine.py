"""The state machine, driven line by line as a GUI does, with a real network and real threads."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, SimpleQueue

import pytest
from small_checkpoints import save_checkpoint

from keisei.shogi import Move, ShogiGame
from keisei.usi.engine import EXIT_FAILED, EXIT_OK, Engine
from keisei.usi.events import EndOfInput, Event, Line
from keisei.usi.options import EngineOptions

PATIENCE_SECONDS = 60.0
MATE_IN_ONE = "position sfen 4k4/9/4P4/9/9/9/9/9/4K4 b G 1"
MATED = "position sfen 4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1"
DECLARABLE = "position sfen KGGSS+N+N+L+L/+P+P+P+P5/9/9/9/9/9/9/8k b 2R2B2g2s2n2l14p 100"


class Conversation:
    """An engine in a thread, a queue to it and a queue from it."""

    def __init__(self, options: EngineOptions) -> None:
        self.events: SimpleQueue[Event] = SimpleQueue()
        self.answers: SimpleQueue[str] = SimpleQueue()
        self.status: list[int] = []
        self._thread = threading.Thread(target=self._serve, args=(options,), daemon=True)
        self._thread.start()

    def _serve(self, options: EngineOptions) -> None:
        self.status.append(Engine(self.events, self.answers.put, options).run())

    def say(self, *lines: str) -> None:
        for line in lines:
            self.events.put(Line(line, time.monotonic()))

    def until(self, beginning: str) -> list[str]:
        lines: list[str] = []
        while not lines or not lines[-1].startswith(beginning):
            try:
                lines.append(self.answers.get(timeout=PATIENCE_SECONDS))
            except Empty:
                raise AssertionError(f"no {beginning!r} after {lines}") from None
        return lines

    def settled(self) -> list[str]:
        """Everything said before the engine comes round to a question asked now."""
        self.say("usi")
        return [line for line in self.until("usiok") if not line.startswith(("id ", "option ", "usiok"))]

    def end(self) -> int:
        self.events.put(EndOfInput())
        self._thread.join(PATIENCE_SECONDS)
        return self.status[0]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_checkpoint(tmp_path_factory.mktemp("usi"))


@pytest.fixture
def gui(model: Path) -> Iterator[Conversation]:
    conversation = Conversation(EngineOptions(model=str(model), threads=1))
    conversation.say("usi", "isready", "usinewgame")
    conversation.until("readyok")
    yield conversation
    assert conversation.end() == EXIT_OK


def bestmoves(lines: list[str]) -> list[str]:
    return [line for line in lines if line.startswith("bestmove")]


def is_legal(answer: str, *moves: str) -> bool:
    """Is the best move, and the reply it ponders on, legal after these moves?"""
    game = ShogiGame()
    for move in (*moves, *answer.removeprefix("bestmove ").split(" ponder ")):
        if Move.from_usi(move) not in game.legal_moves():
            return False
        game.play(move)
    return True


@pytest.mark.parametrize(
    "go",
    [
        "go byoyomi 200",
        "go btime 1000 wtime 1000 binc 100 winc 100",
        "go movetime 150",
        "go nodes 50",
        "go depth 2",
        "go btime 0 wtime 0",
        "go nodes 1 btime 100000 wtime 100000",
    ],
)
def test_every_limit_ends_in_one_legal_move(gui: Conversation, go: str) -> None:
    gui.say("position startpos moves 7g7f", go)
    lines = gui.until("bestmove")
    assert is_legal(lines[-1], "7g7f")
    assert gui.settled() == []


def test_a_bare_go_ends_by_itself(gui: Conversation) -> None:
    gui.say("setoption name Simulations value 30", "position startpos", "go")
    assert is_legal(gui.until("bestmove")[-1])


def test_nodes_are_counted_and_reproducible(gui: Conversation) -> None:
    answers = []
    for _ in range(2):
        gui.say("position startpos", "go nodes 100")
        lines = gui.until("bestmove")
        answers.append(lines[-1])
        info = lines[-2].split()
        assert info[info.index("nodes") + 1] == "101", "the root's own visit and 100 simulations"
    assert answers[0] == answers[1]


@pytest.mark.parametrize("mode", ["policy", "value1", "search"])
def test_all_modes_play(gui: Conversation, mode: str) -> None:
    gui.say(f"setoption name Mode value {mode}", "position startpos", "go byoyomi 300")
    assert is_legal(gui.until("bestmove")[-1])


def test_value1_looks_at_every_move_once(gui: Conversation) -> None:
    gui.say("setoption name Mode value value1", "setoption name MultiPV value 593", "position startpos", "go")
    shown = [line for line in gui.until("bestmove") if " multipv " in line and " nodes 31 " in line]
    scores = [int(line.split(" score cp ")[1].split()[0]) for line in shown]
    assert len(shown) == 30
    assert scores == sorted(scores, reverse=True)


def test_several_lines_are_shown_best_first(gui: Conversation) -> None:
    gui.say("setoption name MultiPV value 3", "position startpos", "go nodes 64")
    lines = gui.until("bestmove")
    last = [line for line in lines if " multipv " in line][-3:]
    assert [f" multipv {number} " in line for number, line in enumerate(last, start=1)] == [True] * 3
    assert lines[-1].split()[1] == last[0].split(" pv ")[1].split()[0]


def test_searchmoves_restrict_the_choice_and_illegal_ones_are_passed_over(gui: Conversation) -> None:
    gui.say("position startpos", "go nodes 20 searchmoves 1g1f 5e5d nonsense")
    assert gui.until("bestmove")[-1].split()[1] == "1g1f"


def test_a_forced_move_is_played_at_once(gui: Conversation) -> None:
    begun = time.monotonic()
    gui.say("position sfen k8/G8/2K6/9/5g3/9/9/9/3R3r1 w - 4", "go btime 600000 wtime 600000 byoyomi 60000")
    assert gui.until("bestmove")[-1].startswith("bestmove 9a9b")
    assert time.monotonic() - begun < 30


# ---- the end of the game


def test_mates_are_scored_in_plies(gui: Conversation) -> None:
    gui.say(MATE_IN_ONE, "go byoyomi 5000")
    lines = gui.until("bestmove")
    assert lines[-1] == "bestmove G*5b"
    assert lines[-2].endswith("score mate 1 pv G*5b")


def test_the_mated_side_resigns(gui: Conversation) -> None:
    gui.say(MATED, "go byoyomi 1000")
    assert gui.until("bestmove") == ["bestmove resign"]


def test_a_win_is_declared(gui: Conversation) -> None:
    gui.say(DECLARABLE, "go byoyomi 1000")
    assert gui.until("bestmove") == ["bestmove win"]


def test_a_hopeless_game_is_given_up_when_the_option_says_so(gui: Conversation) -> None:
    hopeless = "position sfen 8k/9/9/9/9/9/6r2/7r1/K8 b - 1"
    gui.say(hopeless, "go nodes 300")
    assert gui.until("bestmove")[-1] != "bestmove resign"
    gui.say("setoption name ResignValue value 3000", hopeless, "go nodes 300")
    assert gui.until("bestmove")[-1] == "bestmove resign"


# ---- waiting for the GUI


@pytest.mark.parametrize("position", ["position startpos", MATE_IN_ONE, MATED, DECLARABLE])
@pytest.mark.parametrize("go", ["go infinite", "go ponder byoyomi 50", "go ponder"])
def test_nothing_is_answered_before_the_gui_asks(gui: Conversation, position: str, go: str) -> None:
    gui.say(position, go)
    if position == MATE_IN_ONE:
        gui.say("isready")
        gui.until("readyok")
    assert bestmoves(gui.settled()) == []
    gui.say("stop")
    assert len(bestmoves(gui.until("bestmove"))) == 1
    assert gui.settled() == []


def test_ponderhit_starts_the_clock(gui: Conversation) -> None:
    gui.say("position startpos moves 7g7f 3c3d", "go ponder btime 0 wtime 0 byoyomi 200")
    assert bestmoves(gui.settled()) == []
    gui.say("ponderhit")
    assert is_legal(gui.until("bestmove")[-1], "7g7f", "3c3d")


def test_the_clock_may_come_with_the_ponderhit(gui: Conversation) -> None:
    gui.say("position startpos moves 7g7f 3c3d", "go ponder")
    assert bestmoves(gui.settled()) == []
    gui.say("ponderhit btime 0 wtime 0 byoyomi 100")
    assert is_legal(gui.until("bestmove")[-1], "7g7f", "3c3d")


def test_ponderhit_answers_at_once_what_is_finished(gui: Conversation) -> None:
    gui.say(MATE_IN_ONE, "go ponder btime 600000 wtime 600000 byoyomi 60000")
    gui.settled()
    gui.say("ponderhit")
    assert gui.until("bestmove")[-1] == "bestmove G*5b"


def test_gameover_ends_pondering(gui: Conversation) -> None:
    gui.say("position startpos moves 7g7f 3c3d", "go ponder byoyomi 100", "gameover win")
    assert len(bestmoves(gui.until("bestmove"))) == 1
    gui.say("isready")
    assert gui.until("readyok") == ["readyok"]


def test_isready_during_a_search_is_answered_and_the_search_goes_on(gui: Conversation) -> None:
    gui.say("position startpos", "go infinite", "isready")
    gui.until("readyok")
    assert bestmoves(gui.settled()) == []
    gui.say("stop")
    assert is_legal(gui.until("bestmove")[-1])


def test_stop_and_ponderhit_are_ignored_when_idle(gui: Conversation) -> None:
    gui.say(*["stop", "ponderhit", "gameover"] * 20)
    assert gui.settled() == []


def test_ponderhit_is_ignored_while_not_pondering(gui: Conversation) -> None:
    gui.say("position startpos", "go infinite", "ponderhit")
    assert bestmoves(gui.settled()) == []
    gui.say("stop")
    gui.until("bestmove")


def test_two_goes_in_a_row_get_an_answer_each(gui: Conversation) -> None:
    gui.say("position startpos", "go infinite", "go nodes 10")
    gui.until("bestmove")
    gui.until("bestmove")
    assert gui.settled() == []


# ---- mate problems


@pytest.mark.parametrize(
    ("position", "answer"),
    [
        (MATE_IN_ONE, "checkmate G*5b"),
        ("position sfen 1k2g4/9/p8/Ng1RG4/9/9/9/9/4K4 b RSN 1", "checkmate R*8b"),
        ("position sfen 4k4/9/9/9/9/9/9/9/4K4 b P 1", "checkmate nomate"),
    ],
)
@pytest.mark.parametrize("go", ["go mate infinite", "go mate 30000"])
def test_mate_problems_are_solved(gui: Conversation, position: str, answer: str, go: str) -> None:
    gui.say(position, go)
    assert gui.until("checkmate")[-1].startswith(answer)


@pytest.mark.parametrize("end", [[], ["stop"], ["gameover"]])
def test_a_mate_search_ends_in_time_or_when_told(gui: Conversation, end: list[str]) -> None:
    # Endless checks with rooks and bishops: not settled within any test's patience.
    hard = "position sfen 9/9/9/9/4k4/9/9/9/K8 b 2R2B4G4S4N4L18P 1"
    gui.say(hard, "go mate infinite" if end else "go mate 50", *end)
    assert gui.until("checkmate")[-1] == "checkmate timeout"
    gui.say("position startpos", "go nodes 5")
    assert is_legal(gui.until("bestmove")[-1])
    assert gui.settled() == []


# ---- trouble


@pytest.mark.parametrize(
    "line",
    ["position sfen rubbish b - 1", "position startpos moves 7g7e", "setoption name Threads value none"],
)
def test_bad_commands_are_explained_and_change_nothing(gui: Conversation, line: str) -> None:
    gui.say("position startpos moves 7g7f", line)
    (told,) = gui.settled()
    assert told.startswith("info string ")
    assert told.isascii()
    gui.say("go nodes 5")
    assert is_legal(gui.until("bestmove")[-1], "7g7f")


def test_garbage_is_ignored(gui: Conversation) -> None:
    gui.say("", "xyzzy", "go" * 1_000, "\x00\xff", "bestmove 7g7f", "position", "setoption")
    assert gui.settled() == []


def test_a_go_before_isready_still_gets_its_answer(model: Path) -> None:
    gui = Conversation(EngineOptions(model=str(model), threads=1))
    gui.say("position startpos", "go byoyomi 50")
    assert is_legal(gui.until("bestmove")[-1])
    gui.say("isready")
    gui.until("readyok")
    assert gui.end() == EXIT_OK


def test_another_model_is_loaded_when_the_option_changes(gui: Conversation, tmp_path: Path) -> None:
    other = save_checkpoint(tmp_path, 2)
    gui.say("position startpos", "setoption name Mode value policy", "go")
    first = gui.until("bestmove")[-2].split(" score ")[1]
    gui.say(f"setoption name Model value {other}", "isready", "go")
    gui.until("readyok")
    second = gui.until("bestmove")[-2].split(" score ")[1]
    assert first != second


def test_a_model_that_cannot_be_loaded_is_named_and_ends_the_engine(tmp_path: Path) -> None:
    gui = Conversation(EngineOptions(model=str(tmp_path)))
    gui.say("usi", "isready")
    told = gui.until("info string error")[-1]
    assert str(tmp_path) in told
    gui._thread.join(PATIENCE_SECONDS)
    assert gui.status == [EXIT_FAILED]


def test_a_go_is_answered_even_when_the_model_cannot_be_loaded(tmp_path: Path) -> None:
    gui = Conversation(EngineOptions(model=str(tmp_path)))
    gui.say("position startpos", "go infinite")
    assert is_legal(gui.until("bestmove")[-1])
    gui._thread.join(PATIENCE_SECONDS)
    assert gui.status == [EXIT_FAILED]
