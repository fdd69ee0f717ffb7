"""The tsume exam: positions with a forced mate of known length, and how many of them a player begins rightly.

The positions come from random play and are proven by the native mate solver; the same seed gives the same exam. A
first move is right when it is check and mate follows within the length against every defence, whichever of several
such moves it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from keisei.evaluation.players import Answer, Player
from keisei.evaluation.scores import Score
from keisei.shogi import Move, ShogiGame

#: Lengths of the mates in plies: mate in one, two and three of the mater's own moves.
LENGTHS = (1, 3, 5)
#: Random games are all alike before this ply.
FIRST_PLY = 20
LONGEST_GAME = 300
#: Positions put to a player at once.
BATCH_SIZE = 256

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class TsumeProblem:
    """The attacker moves and mates in exactly ``plies`` at best."""

    sfen: str
    plies: int


def make_problems(plies: int, count: int, seed: int) -> list[TsumeProblem]:
    """Different problems of one length, at most one from each random game."""
    if plies not in LENGTHS:
        raise ValueError(f"mates are of {LENGTHS} plies, not {plies!r}")
    random = np.random.default_rng(seed)
    problems: dict[TsumeProblem, None] = {}
    while len(problems) < count:
        problem = next(_problems_of_a_game(plies, random), None)
        if problem is not None:
            problems[problem] = None
    return list(problems)


def _problems_of_a_game(plies: int, random: np.random.Generator) -> Iterator[TsumeProblem]:
    game = ShogiGame(max_plies=LONGEST_GAME)
    while game.outcome is None:
        if game.ply >= FIRST_PLY and _mate_length(game, plies) == plies:
            # The history may matter to the game at hand, but not to the problem: it must hold without.
            alone = ShogiGame(game.sfen)
            if _mate_length(alone, plies) == plies:
                yield TsumeProblem(alone.sfen, plies)
        moves = game.legal_moves()
        game.play(moves[int(random.integers(len(moves)))])


def _mate_length(game: ShogiGame, most_plies: int) -> int | None:
    line = game.find_mate(most_plies)
    return None if line is None else len(line)


def is_solved_by(problem: TsumeProblem, answer: Answer) -> bool:
    """Does the answer mate, or keep a mate by checks within the problem's length against every reply?"""
    game = ShogiGame(problem.sfen)
    if not isinstance(answer, Move) or answer not in game.legal_moves():
        return False
    game.play(answer)
    if game.outcome is not None:
        return game.outcome.winner is game.turn.opponent
    rest = problem.plies - 2
    return (
        game.is_in_check
        and rest > 0
        and all(_is_mated_after(game, reply, rest) for reply in game.legal_moves())
    )


def _is_mated_after(game: ShogiGame, reply: Move, plies: int) -> bool:
    game.play(reply)
    is_mated = game.outcome is None and game.find_mate(plies) is not None
    game.undo_move()
    return is_mated


def sit_exam(player: Player, problems: Sequence[TsumeProblem], on_answers: Progress | None = None) -> Score:
    """How many problems a player begins rightly (won) and wrongly (lost)."""
    solved = 0
    for begin in range(0, len(problems), BATCH_SIZE):
        batch = problems[begin : begin + BATCH_SIZE]
        answers = player.choose([ShogiGame(problem.sfen) for problem in batch])
        solved += sum(map(is_solved_by, batch, answers))
        if on_answers is not None:
            on_answers(begin + len(batch), len(problems))
    return Score(solved, 0, len(problems) - solved)
