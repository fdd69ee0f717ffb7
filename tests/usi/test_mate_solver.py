"""Mate problems in a thread."""

from queue import Empty, SimpleQueue

import pytest

from keisei.shogi import ShogiGame
from keisei.usi.events import Event, MateAnswer
from keisei.usi.mate_solver import MateSolver

PATIENCE_SECONDS = 60.0
HARD = "9/9/9/9/4k4/9/9/9/K8 b 2R2B4G4S4N4L18P 1"


@pytest.mark.parametrize(
    ("sfen", "answer"),
    [
        ("4k4/9/4P4/9/9/9/9/9/4K4 b G 1", "G*5b"),
        ("8k/9/5N1R1/8B/9/9/9/9/4K4 b P 1", "2c1c"),
        ("4k4/9/9/9/9/9/9/9/4K4 b P 1", "nomate"),
    ],
)
def test_a_problem_is_answered_once(sfen: str, answer: str) -> None:
    events: SimpleQueue[Event] = SimpleQueue()
    MateSolver(3, ShogiGame(sfen), events)
    found = events.get(timeout=PATIENCE_SECONDS)
    assert isinstance(found, MateAnswer)
    assert found.task == 3
    assert found.text.startswith(answer)
    game = ShogiGame(sfen)
    for move in () if answer == "nomate" else found.text.split():
        game.play(move)
    assert (game.outcome is None) is (answer == "nomate")


def test_a_cancelled_problem_is_not_answered() -> None:
    events: SimpleQueue[Event] = SimpleQueue()
    solver = MateSolver(1, ShogiGame(HARD), events)
    solver.cancel()
    MateSolver(2, ShogiGame("4k4/9/4P4/9/9/9/9/9/4K4 b G 1"), events)
    assert events.get(timeout=PATIENCE_SECONDS) == MateAnswer(2, "G*5b")
    with pytest.raises(Empty):
        events.get_nowait()
