"""From a `go` to what is to be done: limits, deadlines, and answers that need no thought."""

import pytest

from keisei.shogi import ShogiGame
from keisei.usi.options import EngineOptions
from keisei.usi.protocol import Go, parse
from keisei.usi.thought import RESIGN, WIN
from keisei.usi.work import DEFAULT_SIMULATIONS, FORCED_MOVE_SIMULATIONS, Search, instinct, new_search

MATE_IN_ONE = "4k4/9/4P4/9/9/9/9/9/4K4 b G 1"
MATED = "4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1"
MAY_DECLARE = "2K3G2/GGG1SSS2/+P+P+P+P5/9/9/9/9/9/3k4r b R2B14P 1"
# The king can take the gold, and nothing else is legal.
ONE_MOVE = "k8/1G7/9/9/9/9/9/9/K8 w - 1"
RECEIVED = 1000.0


def search(go: str, sfen: str | None = None, **options: int) -> Search:
    command = parse(go)
    assert isinstance(command, Go)
    return new_search(7, ShogiGame(sfen), EngineOptions(**options), command.limits, RECEIVED)


@pytest.mark.parametrize(
    ("go", "simulations"),
    [
        ("go", DEFAULT_SIMULATIONS),
        ("go nodes 50", 50),
        ("go byoyomi 1000", None),
        ("go depth 3", None),
        ("go infinite", None),
        ("go ponder", None),
    ],
)
def test_simulations_end_a_search_where_nothing_else_does(go: str, simulations: int | None) -> None:
    assert search(go).task.simulations == simulations


def test_the_smaller_of_two_limits_of_simulations_holds() -> None:
    assert search("go nodes 50", simulations=20).task.simulations == 20
    assert search("go byoyomi 1000", simulations=20).task.simulations == 20


def test_the_clock_makes_the_deadline_unless_the_gui_holds_the_search() -> None:
    timed = search("go btime 0 wtime 0 byoyomi 1000", network_delay_milliseconds=100)
    assert timed.deadline == pytest.approx(RECEIVED + 0.9)
    assert not timed.is_held
    for go in ("go infinite", "go ponder btime 0 wtime 0 byoyomi 1000"):
        assert (search(go).deadline, search(go).is_held) == (None, True)


def test_a_predicted_move_starts_the_clock() -> None:
    pondering = search("go ponder btime 0 wtime 0 byoyomi 1000")
    pondering.start_clock(search("go").limits, RECEIVED + 5)
    assert pondering.deadline == pytest.approx(RECEIVED + 5.9)
    early = search("go ponder")  # YaneuraOu's extension: the clocks come with ponderhit
    early.start_clock(search("go byoyomi 2000").limits, RECEIVED)
    assert early.deadline == pytest.approx(RECEIVED + 1.9)
    assert not early.is_held


def test_a_stop_before_the_first_thought_leaves_little_time() -> None:
    infinite = search("go infinite")
    infinite.hurry(RECEIVED)
    assert infinite.deadline == pytest.approx(RECEIVED + 0.05)
    assert (infinite.is_held, infinite.is_stopping) == (False, True)
    nearly_over = search("go byoyomi 1000")
    nearly_over.hurry(RECEIVED + 0.89)
    assert nearly_over.deadline == pytest.approx(RECEIVED + 0.9)


def test_rules_answer_without_a_thought() -> None:
    assert search("go", MATED).settled == RESIGN
    assert search("go", MAY_DECLARE).settled == WIN
    assert search("go").settled is None


def test_a_forced_move_costs_little_time_on_a_clock_only() -> None:
    assert len(ShogiGame(ONE_MOVE).legal_moves()) == 1
    assert search("go byoyomi 1000", ONE_MOVE).task.simulations == FORCED_MOVE_SIMULATIONS
    assert search("go infinite", ONE_MOVE).task.simulations is None


def test_instinct_mates_and_keeps_to_the_moves_it_may_play() -> None:
    assert instinct(search("go", MATE_IN_ONE).task).usi in {"G*5b", "G*4b", "G*6b"}
    assert instinct(search("go searchmoves 5i5h", MATE_IN_ONE).task).usi == "5i5h"
