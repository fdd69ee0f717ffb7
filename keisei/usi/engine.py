"""The engine's state machine: one loop that hears GUI and threads, and is the only one to speak.

Every `go` is answered by exactly one bestmove, and in time: the answer is taken from the thinker's latest thought, and
the thinker is never waited for once the clock has run down.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Final, NamedTuple

from keisei import __version__
from keisei.errors import ConfigError, KeiseiError
from keisei.shogi import Move, ShogiGame
from keisei.usi import protocol
from keisei.usi.clock import MILLISECONDS, thinking_seconds
from keisei.usi.events import EndOfInput, Event, Failed, Finished, Line, Loaded, MateAnswer, Progress
from keisei.usi.game_setup import set_up
from keisei.usi.mate_solver import TIMEOUT, MateSolver
from keisei.usi.options import EngineOptions, declarations, with_option
from keisei.usi.protocol import GoLimits
from keisei.usi.thinker import Task, Thinker
from keisei.usi.thought import RESIGN, WIN, Thought, bestmove

EXIT_OK: Final = 0
EXIT_FAILED: Final = 1
#: A `stop` that comes before the first thought is given this long.
FIRST_THOUGHT_SECONDS: Final = 0.05
#: What a `go` without any limit means.
DEFAULT_SIMULATIONS: Final = 800
#: A forced move needs no thought, but the GUI likes to see one, and a reply to ponder on.
FORCED_MOVE_SIMULATIONS: Final = 16


class _LoadKey(NamedTuple):
    """What the loaded network depends on."""

    model: str
    threads: int

    @classmethod
    def of(cls, options: EngineOptions) -> _LoadKey:
        return cls(options.model, options.threads)


@dataclass
class _Search:
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


@dataclass
class _MateSearch:
    """A `go mate` that has not been answered."""

    number: int
    solver: MateSolver
    deadline: float | None


class Engine:
    """Answers the GUI. ``write`` takes one line without its end."""

    def __init__(
        self, events: SimpleQueue[Event], write: Callable[[str], None], options: EngineOptions
    ) -> None:
        self._events = events
        self._write = write
        self._options = options
        self._thinker = Thinker(events)
        self._game = ShogiGame()
        self._work: _Search | _MateSearch | None = None
        self._goes = 0
        self._loaded: _LoadKey | None = None
        self._loads_under_way: list[_LoadKey] = []
        self._owed_readyoks = 0
        self._exit: int | None = None

    def run(self) -> int:
        """Serves until the GUI leaves; returns the exit status."""
        try:
            while self._exit is None:
                event = self._next_event()
                if event is None:
                    self._answer()
                else:
                    self._handle(event)
        finally:
            self._thinker.close()
        return self._exit

    def _next_event(self) -> Event | None:
        """The next thing that happened; None when the time for an answer has come."""
        deadline = None if self._work is None else self._work.deadline
        if deadline is None:
            return self._events.get()
        seconds = deadline - time.monotonic()
        if seconds <= 0:
            return None
        try:
            return self._events.get(timeout=seconds)
        except Empty:
            return None

    def _handle(self, event: Event) -> None:
        match event:
            case Line():
                self._obey(protocol.parse(event.text), event.received)
            case EndOfInput():
                self._exit = EXIT_OK
            case Loaded():
                self._loaded = self._loads_under_way.pop(0)
                self._say_readyok_if_loaded()
            case Failed():
                self._fail(event.message)
            case Progress():
                self._on_progress(event)
            case Finished():
                self._on_finished(event.task)
            case MateAnswer():
                if isinstance(self._work, _MateSearch) and self._work.number == event.task:
                    self._answer_mate(event.text)

    def _obey(self, command: protocol.Command | None, received: float) -> None:
        match command:
            case protocol.Usi():
                self._introduce()
            case protocol.IsReady():
                self._get_ready()
            case protocol.SetOption():
                self._set_option(command)
            case protocol.Position():
                self._set_position(command)
            case protocol.Go():
                self._go(command.limits, received)
            case protocol.GoMate():
                self._go_mate(command, received)
            case protocol.PonderHit():
                self._ponderhit(command.limits, received)
            case protocol.Stop():
                self._stop(received)
            case protocol.GameOver():
                self._answer()  # at once: the next game may begin with the next line
            case protocol.Quit():
                self._answer()  # cshogi waits for ever for the bestmove of a search that it quits
                self._exit = EXIT_OK
            case protocol.NewGame() | None:
                pass  # nothing is kept from game to game; and what is not understood is ignored

    # ---- before the game

    def _introduce(self) -> None:
        self._write(f"id name Keisei {__version__}")
        self._write("id author The Keisei developers")
        for line in declarations(self._options):
            self._write(line)
        self._write("usiok")

    def _get_ready(self) -> None:
        if self._work is not None:
            self._write("readyok")  # asked for during a search: it goes on
            return
        self._load()
        self._owed_readyoks += 1
        self._say_readyok_if_loaded()

    def _load(self) -> None:
        """Has the network of the present options loaded, unless it is or will be."""
        wanted = _LoadKey.of(self._options)
        newest = self._loads_under_way[-1] if self._loads_under_way else self._loaded
        if newest != wanted:
            self._loads_under_way.append(wanted)
            self._thinker.load(self._options)

    def _say_readyok_if_loaded(self) -> None:
        if self._loads_under_way:
            return
        for _ in range(self._owed_readyoks):
            self._write("readyok")
        self._owed_readyoks = 0

    def _set_option(self, command: protocol.SetOption) -> None:
        try:
            self._options = with_option(self._options, command.name, command.value)
        except ConfigError as error:
            self._tell(str(error))

    def _set_position(self, command: protocol.Position) -> None:
        try:
            self._game = set_up(command, self._options.max_moves_to_draw)
        except KeiseiError as error:
            self._tell(f"position ignored: {error}")

    # ---- thinking

    def _go(self, limits: GoLimits, received: float) -> None:
        self._answer()  # a GUI that sends two in a row still gets one answer to each
        game = self._game.copy()
        moves = game.legal_moves()
        only = tuple(move for move in moves if move.usi in limits.searchmoves)
        is_held = limits.infinite or limits.ponder
        seconds = thinking_seconds(limits, game.turn, self._options.network_delay_milliseconds)
        is_forced = len(moves) == 1 and seconds is not None and not is_held
        task = Task(
            number=self._next_number(),
            game=game,
            options=self._options,
            started=received,
            only=only,
            simulations=FORCED_MOVE_SIMULATIONS if is_forced else self._simulations(limits),
            depth=limits.depth,
        )
        deadline = None if is_held or seconds is None else received + seconds
        self._work = _Search(task, limits, deadline, is_held, _settled_answer(game, moves))
        if self._work.settled is not None:
            self._on_finished(task.number)
            return
        self._load()
        self._thinker.think(task)

    def _simulations(self, limits: GoLimits) -> int | None:
        """The number of simulations that a search is limited to; None where something else ends it."""
        numbers = [number for number in (limits.nodes, self._options.simulations) if number]
        if numbers:
            return min(numbers)
        ends_otherwise = limits.has_clock or limits.depth or limits.infinite or limits.ponder
        return None if ends_otherwise else DEFAULT_SIMULATIONS

    def _ponderhit(self, hit: GoLimits, received: float) -> None:
        work = self._work
        if not isinstance(work, _Search) or not work.is_held or not work.limits.ponder:
            return
        limits = hit if hit.has_clock else work.limits
        delay = self._options.network_delay_milliseconds
        seconds = thinking_seconds(limits, work.task.game.turn, delay) or 0.0
        work.is_held = False
        work.deadline = received + seconds
        if work.is_finished:
            self._answer()

    def _stop(self, received: float) -> None:
        work = self._work
        if not isinstance(work, _Search) or work.settled or self._thinker.latest(work.task.number):
            self._answer()
            return
        work.is_held = False
        work.is_stopping = True
        soon = received + FIRST_THOUGHT_SECONDS
        work.deadline = soon if work.deadline is None else min(soon, work.deadline)

    def _on_progress(self, event: Progress) -> None:
        work = self._work
        if not isinstance(work, _Search) or work.task.number != event.task:
            return
        self._show(work, event.thought)
        if work.is_stopping:
            self._answer()

    def _on_finished(self, task: int) -> None:
        work = self._work
        if not isinstance(work, _Search) or work.task.number != task:
            return
        work.is_finished = True
        if not work.is_held:
            self._answer()

    # ---- answering

    def _answer(self) -> None:
        """Ends the work under way, if any, with what is known now."""
        if isinstance(self._work, _MateSearch):
            self._answer_mate(TIMEOUT)
        elif self._work is not None:
            work, self._work = self._work, None
            self._thinker.cancel()
            self._write(self._best_answer(work))

    def _best_answer(self, work: _Search) -> str:
        if work.settled is not None:
            return work.settled
        thought = self._thinker.latest(work.task.number)
        if thought is None:
            return bestmove((_instinct(work.task),))
        self._show(work, thought)
        return thought.answer(self._options.resign_value)

    def _show(self, work: _Search, thought: Thought) -> None:
        if thought is work.shown:
            return
        work.shown = thought
        for line in thought.info_lines():
            self._write(line)

    # ---- mate problems

    def _go_mate(self, command: protocol.GoMate, received: float) -> None:
        self._answer()
        number = self._next_number()
        seconds = None if command.milliseconds is None else command.milliseconds / MILLISECONDS
        deadline = None if seconds is None else received + seconds
        self._work = _MateSearch(number, MateSolver(number, self._game.copy(), self._events), deadline)

    def _answer_mate(self, text: str) -> None:
        if isinstance(self._work, _MateSearch):
            self._work.solver.cancel()
            self._work = None
            self._write(f"checkmate {text}")

    # ---- the rest

    def _next_number(self) -> int:
        self._goes += 1
        return self._goes

    def _fail(self, message: str) -> None:
        """Without a network there is nothing to play with: say why, owe no answer, and go."""
        self._tell(f"error: {message}")
        self._answer()
        self._exit = EXIT_FAILED

    def _tell(self, message: str) -> None:
        """Free text to the GUI: one line of ASCII."""
        text = " ".join(message.split()).encode("ascii", "replace").decode("ascii")
        self._write(f"info string {text}")


def _settled_answer(game: ShogiGame, moves: list[Move]) -> str | None:
    """An answer that the rules give: without a legal move the game is lost, and a declared win ends it."""
    if not moves:
        return RESIGN
    return WIN if game.can_declare_win() else None


def _instinct(task: Task) -> Move:
    """A move that can be found at once, for when there is no time for any thought."""
    mate = task.game.mate_in_one()
    if mate is not None and (not task.only or mate in task.only):
        return mate
    safe = task.game.moves_without_mating_reply()
    return next((move for move in safe if not task.only or move in task.only), (*task.only, *safe)[0])
