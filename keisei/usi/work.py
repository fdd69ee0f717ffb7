"""What the engine has been asked and has not answered, and the answers that need no thought."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from keisei.shogi import Move, ShogiGame
from keisei.usi.clock import thinking_seconds
from keisei.usi.mate_solver import MateSolver
from keisei.usi.options import EngineOptions
from keisei.usi.protocol import GoLimits
from keisei.usi.thinker import Task
from keisei.usi.thought import RESIGN, WIN, Thought

#: A `stop` that comes before the first thought is given this long.
FIRST_THOUGHT_SECONDS: Final = 0.05
#: What a `go` without any limit means.
DEFAULT_SIMULATIONS: Final = 800
#: A forced move needs no thought, but the GUI likes to see one, and a reply to ponder on.
FORCED_MOVE_SIMULATIONS: Final = 16


@dataclass
class Search:
    """A `go` that has not been answered."""

    task: Task
    limits: GoLimits
    #: When the bestmove must be out; None while only the GUI can end it.
    deadline: float | None
    #: Infinite or pondering: no bestmove before the GUI asks for it, not even in mate.
    is_held: bool
    #: An answer that needs no thought.
    settled: str | None = None
    is_finished: bool = False
    is_stopping: bool = False
    shown: Thought | None = None

    def start_clock(self, hit: GoLimits, received: float) -> None:
        """The predicted move was played: the clock runs, that of `ponderhit` where it brings one."""
        limits = hit if hit.has_clock else self.limits
        delay = self.task.options.network_delay_milliseconds
        self.is_held = False
        self.deadline = received + (thinking_seconds(limits, self.task.game.turn, delay) or 0.0)

    def hurry(self, received: float) -> None:
        """Stopped before the first thought: the next one, or the deadline, is the end."""
        soon = received + FIRST_THOUGHT_SECONDS
        self.is_held = False
        self.is_stopping = True
        self.deadline = soon if self.deadline is None else min(soon, self.deadline)


@dataclass
class MateSearch:
    """A `go mate` that has not been answered."""

    number: int
    solver: MateSolver
    deadline: float | None


def new_search(
    number: int, game: ShogiGame, options: EngineOptions, limits: GoLimits, received: float
) -> Search:
    """The work that a `go` is, received at that time; the game is not to be changed any more."""
    moves = game.legal_moves()
    is_held = limits.infinite or limits.ponder
    seconds = thinking_seconds(limits, game.turn, options.network_delay_milliseconds)
    is_forced = len(moves) == 1 and seconds is not None and not is_held
    task = Task(
        number=number,
        game=game,
        options=options,
        started=received,
        only=tuple(move for move in moves if move.usi in limits.searchmoves),
        simulations=FORCED_MOVE_SIMULATIONS if is_forced else _simulations(limits, options),
        depth=limits.depth,
    )
    deadline = None if is_held or seconds is None else received + seconds
    return Search(task, limits, deadline, is_held, _settled_answer(game, moves))


def _simulations(limits: GoLimits, options: EngineOptions) -> int | None:
    """The number of simulations that a search is limited to; None where something else ends it."""
    numbers = [number for number in (limits.nodes, options.simulations) if number]
    if numbers:
        return min(numbers)
    ends_otherwise = limits.has_clock or limits.depth or limits.infinite or limits.ponder
    return None if ends_otherwise else DEFAULT_SIMULATIONS


def _settled_answer(game: ShogiGame, moves: list[Move]) -> str | None:
    """An answer that the rules give: without a legal move the game is lost, and a declared win ends it."""
    if not moves:
        return RESIGN
    return WIN if game.can_declare_win() else None


def instinct(task: Task) -> Move:
    """A move that can be found at once, for when there is no time for any thought."""
    mate = task.game.mate_in_one()
    if mate is not None and (not task.only or mate in task.only):
        return mate
    safe = task.game.moves_without_mating_reply()
    return next((move for move in safe if not task.only or move in task.only), (*task.only, *safe)[0])
