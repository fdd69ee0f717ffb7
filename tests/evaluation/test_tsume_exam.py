"""The tsume exam: problems that are proven another way, the same for the same seed, and fair marks."""

import pytest
from plain_mate import attacker_wins, check_wins, plain_mate_length, position_only

from keisei.evaluation.players import Closing, fixed_player
from keisei.evaluation.tsume_exam import LENGTHS, TsumeProblem, is_solved_by, make_problems, sit_exam
from keisei.shogi import Move, Reason, ShogiGame

# The gold mates on 5b; the pawn guards it.
MATE_IN_ONE = TsumeProblem("4k4/9/4P4/9/9/9/9/9/4K4 b G 1", 1)


@pytest.mark.parametrize("plies", LENGTHS)
def test_problems_are_mates_of_exactly_their_length(plies: int) -> None:
    problems = make_problems(plies, 30, seed=1)
    assert len({problem.sfen for problem in problems}) == 30
    for problem in problems:
        game = ShogiGame(problem.sfen)
        assert game.outcome is None
        if plies < 5:  # by brute force; a mate in 5 takes it minutes
            assert plain_mate_length(game, plies) == plies
        else:
            assert not attacker_wins(position_only(game), 3)


@pytest.mark.parametrize("plies", [1, 3])
def test_exactly_the_mating_moves_are_right(plies: int) -> None:
    for problem in make_problems(plies, 12, seed=2):
        game = position_only(ShogiGame(problem.sfen))
        for move in ShogiGame(problem.sfen).legal_moves():
            assert is_solved_by(problem, move) == check_wins(game, move, plies)


def test_several_first_moves_can_be_right() -> None:
    numbers = [
        sum(is_solved_by(problem, move) for move in ShogiGame(problem.sfen).legal_moves())
        for problem in make_problems(3, 40, seed=3)
    ]
    assert min(numbers) == 1
    assert max(numbers) > 1


def test_the_seed_decides_and_a_longer_exam_begins_with_the_shorter_one() -> None:
    assert make_problems(3, 10, seed=5) == make_problems(3, 20, seed=5)[:10]
    assert make_problems(3, 10, seed=5) != make_problems(3, 10, seed=6)


def test_marks_tell_players_apart() -> None:
    exams = {plies: make_problems(plies, 60, seed=4) for plies in (1, 3)}
    assert sit_exam(fixed_player("mate1", 1), exams[1]).share == 1
    assert sit_exam(fixed_player("random", 1), exams[1]).share < 0.2
    assert sit_exam(fixed_player("ab3", 1), exams[3]).interval[0] > 0.85
    assert sit_exam(fixed_player("mate1", 1), exams[3]).interval[1] < 0.4


def test_progress_is_told_up_to_the_last_problem() -> None:
    told: list[tuple[int, int]] = []
    sit_exam(
        fixed_player("random", 1), make_problems(1, 5, seed=1), lambda done, total: told.append((done, total))
    )
    assert told == [(5, 5)]


@pytest.mark.parametrize(
    "answer",
    [Closing(Reason.RESIGNATION), Move.from_usi("5i5h"), Move.from_usi("G*4h"), Move.from_usi("1a1b")],
)
def test_everything_else_is_wrong(answer: Closing | Move) -> None:
    assert not is_solved_by(MATE_IN_ONE, answer)


def test_the_mate_is_right() -> None:
    assert is_solved_by(MATE_IN_ONE, Move.from_usi("G*5b"))


def test_other_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="not 2"):
        make_problems(2, 1, seed=1)
