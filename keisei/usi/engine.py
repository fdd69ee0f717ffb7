"""The engine's state machine: one loop that hears GUI and threads, and is the only one to speak.

Every `go` is answered by exactly one bestmove, and in time: the answer is taken from the thinker's latest thought, and
the thinker is never waited for once the clock has run down.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Final

from keisei import __version__
from keisei.errors import ConfigError, KeiseiError
from keisei.shogi import ShogiGame
from keisei.usi import protocol
from keisei.usi.clock import MILLISECONDS
from keisei.usi.events import EndOfInput, Event, Failed, Finished, Line, Loaded, MateAnswer, Progress
from keisei.usi.game_setup import set_up
from keisei.usi.mate_solver import TIMEOUT, MateSolver
from keisei.usi.options import EngineOptions, declarations, with_option
from keisei.usi.protocol import GoLimits
from keisei.usi.readiness import Readiness
from keisei.usi.thinker import Thinker
from keisei.usi.thought import Thought, bestmove
from keisei.usi.work import MateSearch, Search, instinct, new_search

EXIT_OK: Final = 0
EXIT_FAILED: Final = 1


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
        self._work: Search | MateSearch | None = None
        self._goes = 0
        self._readiness = Readiness(self._thinker)
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
                self._readiness.note_loaded()
                self._say_readyok_if_loaded()
            case Failed():
                self._fail(event.message)
            case Progress():
                self._on_progress(event)
            case Finished():
                self._on_finished(event.task)
            case MateAnswer():
                if isinstance(self._work, MateSearch) and self._work.number == event.task:
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
        self._readiness.request(self._options)
        self._readiness.owe()
        self._say_readyok_if_loaded()

    def _say_readyok_if_loaded(self) -> None:
        for _ in range(self._readiness.take_due()):
            self._write("readyok")

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
        work = new_search(self._next_number(), self._game.copy(), self._options, limits, received)
        self._work = work
        if work.settled is not None:
            self._on_finished(work.task.number)
            return
        self._readiness.request(self._options)
        self._thinker.think(work.task)

    def _ponderhit(self, hit: GoLimits, received: float) -> None:
        work = self._work
        if not isinstance(work, Search) or not work.is_held or not work.limits.ponder:
            return
        work.start_clock(hit, received)
        if work.is_finished:
            self._answer()

    def _stop(self, received: float) -> None:
        work = self._work
        if not isinstance(work, Search) or work.settled or self._thinker.latest(work.task.number):
            self._answer()
            return
        work.hurry(received)

    def _on_progress(self, event: Progress) -> None:
        work = self._work
        if not isinstance(work, Search) or work.task.number != event.task:
            return
        self._show(work, event.thought)
        if work.is_stopping:
            self._answer()

    def _on_finished(self, task: int) -> None:
        work = self._work
        if not isinstance(work, Search) or work.task.number != task:
            return
        work.is_finished = True
        if not work.is_held:
            self._answer()

    # ---- answering

    def _answer(self) -> None:
        """Ends the work under way, if any, with what is known now."""
        if isinstance(self._work, MateSearch):
            self._answer_mate(TIMEOUT)
        elif self._work is not None:
            work, self._work = self._work, None
            self._thinker.cancel()
            self._write(self._best_answer(work))

    def _best_answer(self, work: Search) -> str:
        if work.settled is not None:
            return work.settled
        thought = self._thinker.latest(work.task.number)
        if thought is None:
            return bestmove((instinct(work.task),))
        self._show(work, thought)
        return thought.answer(self._options.resign_value)

    def _show(self, work: Search, thought: Thought) -> None:
        if thought is work.shown:
            return
        work.shown = thought
        for line in thought.info_lines():
            self._write(line)

    # ---- mate problems

    def _go_mate(self, command: protocol.GoMate, received: float) -> None:
        self._answer()
        number = self._next_number()
        limit = command.milliseconds
        deadline = None if limit is None else received + limit / MILLISECONDS
        self._work = MateSearch(number, MateSolver(number, self._game.copy(), self._events), deadline)

    def _answer_mate(self, text: str) -> None:
        if isinstance(self._work, MateSearch):
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
