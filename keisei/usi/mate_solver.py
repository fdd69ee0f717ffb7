"""`go mate`: looks for a forced mate in a thread of its own, with more and more positions allowed."""

from __future__ import annotations

import threading
from queue import SimpleQueue
from typing import Final

from keisei.shogi import ShogiGame
from keisei.usi.events import Event, MateAnswer

#: The longest mates that are looked for, in plies.
LONGEST_MATE: Final = 63
FIRST_NODES: Final = 20_000
GROWTH: Final = 4
#: A search with more positions would need gigabytes.
MOST_NODES: Final = FIRST_NODES * GROWTH**5
TIMEOUT: Final = "timeout"
NO_MATE: Final = "nomate"


class MateSolver:
    """One problem. A native search cannot be interrupted: the engine answers for it, and the thread ends by itself."""

    def __init__(self, task: int, game: ShogiGame, events: SimpleQueue[Event]) -> None:
        self._task = task
        self._game = game
        self._events = events
        self._cancelled = threading.Event()
        threading.Thread(target=self._solve, name="mate solver", daemon=True).start()

    def cancel(self) -> None:
        """The answer is no longer wanted."""
        self._cancelled.set()

    def _solve(self) -> None:
        nodes = FIRST_NODES
        while nodes <= MOST_NODES and not self._cancelled.is_set():
            try:
                line = self._game.find_mate(LONGEST_MATE, max_nodes=nodes)
            except RuntimeError:  # not settled with so few positions
                nodes *= GROWTH
                continue
            self._report(NO_MATE if line is None else " ".join(move.usi for move in line))
            return
        self._report(TIMEOUT)

    def _report(self, text: str) -> None:
        if not self._cancelled.is_set():
            self._events.put(MateAnswer(self._task, text))
