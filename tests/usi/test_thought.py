"""What is told to a GUI."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisei.shogi import Move
from keisei.shogi.gumbel_forest import RootMove, Verdict
from keisei.usi.thought import MoveView, Thought, centipawns


def view(*line: str, value: float = 0.0, verdict: Verdict = Verdict.OPEN, plies: int = 0) -> MoveView:
    moves = tuple(Move.from_usi(usi) for usi in line)
    return MoveView(RootMove(moves[0], 10, value, 0.5, verdict, plies), moves)


def test_even_chances_are_0_and_75_percent_are_600_ln_3() -> None:
    assert centipawns(0.0) == 0
    assert centipawns(0.5) == 659
    assert centipawns(-0.5) == -659


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_centipawns_grow_with_the_value_and_stay_below_mates(first: float, second: float) -> None:
    low, high = sorted((first, second))
    assert -32_000 < centipawns(low) <= centipawns(high) < 32_000


@pytest.mark.parametrize(
    ("verdict", "plies", "score"),
    [
        (Verdict.OPEN, 0, "cp 659"),
        (Verdict.WIN, 3, "mate 3"),
        (Verdict.LOSS, 4, "mate -4"),
    ],
)
def test_scores_are_estimates_or_plies_to_the_mate(verdict: Verdict, plies: int, score: str) -> None:
    assert view("7g7f", value=0.5, verdict=verdict, plies=plies).score == score


def test_an_info_line_says_it_all_with_the_line_last() -> None:
    thought = Thought((view("7g7f", "3c3d", value=0.5),), nodes=100, seconds=0.25)
    assert list(thought.info_lines()) == ["info depth 2 time 250 nodes 100 nps 400 score cp 659 pv 7g7f 3c3d"]


def test_several_moves_are_numbered() -> None:
    thought = Thought((view("7g7f"), view("2g2f")), nodes=1, seconds=0.0)
    first, second, policy = thought.info_lines()
    assert policy.startswith("info string policy 7g7f ")
    assert " multipv 1 " in first
    assert second == "info depth 1 time 0 nodes 1 nps 0 multipv 2 score cp 0 pv 2g2f"


def test_the_best_move_comes_with_the_reply_to_ponder_on() -> None:
    assert Thought((view("7g7f", "3c3d", "2g2f"),), 1, 1.0).answer(99_999) == "bestmove 7g7f ponder 3c3d"
    assert Thought((view("7g7f"),), 1, 1.0).answer(99_999) == "bestmove 7g7f"


def test_resigning_is_for_those_who_ask_for_it() -> None:
    bad = Thought((view("7g7f", value=-0.999),), 1, 1.0)
    mated = Thought((view("7g7f", verdict=Verdict.LOSS, plies=2),), 1, 1.0)
    assert bad.answer(3_000) == mated.answer(3_000) == "bestmove resign"
    assert bad.answer(99_999) == mated.answer(99_999) == "bestmove 7g7f"
    assert Thought((), 0, 0.0).answer(99_999) == "bestmove resign"
