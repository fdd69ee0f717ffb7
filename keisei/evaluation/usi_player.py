"""Any USI engine as a player: several processes for several games, and a referee for what they answer."""

from __future__ import annotations

import os
import queue
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from keisei.errors import ConfigError, IllegalMoveError, UsiEngineError, UsiEngineSilentError
from keisei.evaluation.players import Answer, Closing
from keisei.evaluation.usi_process import UsiProcess
from keisei.shogi import Move, Reason, ShogiGame
from keisei.shogi.notation.game_record import OutsideReason

#: How much later than its time an answer may come: pipes, and a machine that is busy.
MARGIN_SECONDS = 1.0
#: An engine with a limit of nodes or depth that takes longer for one move hangs.
HANG_SECONDS = 60.0
GAMES_PER_PROCESS = 2
#: How often one position is put to an engine that dies of it.
ATTEMPTS = 2


@dataclass(frozen=True)
class UsiLimit:
    """How long an engine may think about a move: so many nodes, so many plies deep, or so many milliseconds."""

    nodes: int | None = None
    depth: int | None = None
    byoyomi: int | None = None

    def __post_init__(self) -> None:
        given = [value for value in (self.nodes, self.depth, self.byoyomi) if value is not None]
        if len(given) != 1 or given[0] < 1:
            raise ConfigError(
                f"a USI player needs one limit of at least 1 (nodes, depth or byoyomi), got {self!r}; "
                "for example usi:fairy-stockfish?nodes=1000"
            )

    @property
    def command(self) -> str:
        """The `go` line. No clocks: Fairy-Stockfish 11.1 takes the opponent's for its own."""
        if self.byoyomi is not None:
            return f"go btime 0 wtime 0 byoyomi {self.byoyomi}"
        return f"go nodes {self.nodes}" if self.nodes is not None else f"go depth {self.depth}"

    @property
    def patience_seconds(self) -> float:
        """After this the engine has overrun its limit."""
        return HANG_SECONDS if self.byoyomi is None else self.byoyomi / 1000 + MARGIN_SECONDS


class UsiPlayer:
    """An engine under a limit. The first process is started at once, to find a wrong command before the first game.

    An engine that plays an illegal move, overruns its limit or dies twice of the same position loses that game; a
    fresh process plays on in the others.
    """

    def __init__(
        self,
        name: str,
        command: str,
        limit: UsiLimit,
        options: Mapping[str, str] | None = None,
        *,
        num_processes: int | None = None,
    ) -> None:
        self.name = name
        self._command = command
        self._limit = limit
        self._options = dict(options or {})
        self._num_processes = num_processes or os.cpu_count() or 1
        self._running: set[UsiProcess] = set()
        self._is_closing = False
        #: Engines at rest; None stands for one that is started when its turn comes.
        self._resting: queue.LifoQueue[UsiProcess | None] = queue.LifoQueue()
        for _ in range(self._num_processes - 1):
            self._resting.put(None)
        self._resting.put(self._started())
        self._threads = ThreadPoolExecutor(self._num_processes, thread_name_prefix="usi")

    @property
    def games_at_once(self) -> int:
        """So many keep all processes busy, since the opponent is to move in half of them."""
        return GAMES_PER_PROCESS * self._num_processes

    def choose(self, games: Sequence[ShogiGame]) -> list[Answer]:
        return list(self._threads.map(self._answer, games))

    def close(self) -> None:
        """Ends all processes, also those that are still thinking."""
        self._is_closing = True
        for process in tuple(self._running):
            process.close()
        self._threads.shutdown(cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _started(self) -> UsiProcess:
        process = UsiProcess(self._command, self._options)
        self._running.add(process)
        return process

    def _ended(self, process: UsiProcess | None) -> None:
        if process is not None:
            self._running.discard(process)
            process.kill()

    def _answer(self, game: ShogiGame) -> Answer:
        """One game's answer, by whichever process is at rest."""
        process = self._resting.get()
        failure = UsiEngineError(f"the match with {self._command!r} is over")
        try:
            for _ in range(ATTEMPTS):
                if self._is_closing:
                    break
                try:
                    process = process or self._started()
                    word = process.best_move(game, self._limit.command, self._limit.patience_seconds)
                    return judge(word, game)
                except UsiEngineError as error:
                    self._ended(process)
                    process = None
                    failure = error
                if isinstance(failure, UsiEngineSilentError):
                    return Closing(OutsideReason.TIMEOUT, str(failure))
            return Closing(OutsideReason.FORFEIT, str(failure))
        finally:
            self._resting.put(process)


def judge(word: str, game: ShogiGame) -> Answer:
    """What the word behind `bestmove` comes to under the rules."""
    if word == "resign":
        return Closing(Reason.RESIGNATION)
    if word == "win":
        if game.can_declare_win():
            return Closing(Reason.DECLARATION)
        return Closing(OutsideReason.ILLEGAL_MOVE, f"declared a win without the right to in {game.sfen!r}")
    try:
        move = Move.from_usi(word)
    except IllegalMoveError as error:
        return Closing(OutsideReason.ILLEGAL_MOVE, str(error))
    if move not in game.legal_moves():
        return Closing(OutsideReason.ILLEGAL_MOVE, f"played {word!r}, which is illegal in {game.sfen!r}")
    return move
