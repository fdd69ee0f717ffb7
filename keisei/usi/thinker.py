"""The thread that owns the network: it loads it, searches, and keeps its latest thought where the engine can take it.

The engine never waits for this thread. A forward pass cannot be interrupted, so a task that was cancelled ends at its
next step, and its thoughts count no more. PyTorch is imported here, in the thread, and not before it is needed.
"""

from __future__ import annotations

import math
import os
import threading
import time
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final

from keisei.errors import KeiseiError
from keisei.shogi import MAX_LEGAL_MOVES, Move, ShogiGame
from keisei.shogi.gumbel_forest import GumbelSettings
from keisei.usi.events import Event, Failed, Finished, Loaded, Progress
from keisei.usi.options import EngineOptions, Mode
from keisei.usi.thought import MoveView, Thought

if TYPE_CHECKING:
    from keisei.core.inference import Inference
    from keisei.evaluation.gumbel_search import GumbelSearch

#: Simulations of the first budget; each further one is as large as all before it together.
FIRST_BUDGET: Final = 64
#: A cancelled task holds the thread no longer than about this.
STEP_SECONDS: Final = 0.05
FIRST_BATCH: Final = 16
LARGEST_BATCH: Final = 256
#: Below one root move, when the clock rather than a number of simulations ends the search.
TIMED_LEAVES_PER_MOVE: Final = 8
#: With this weight values alone decide, and the policy only between equals.
VALUES_ALONE: Final = 1e6
PUBLISH_SECONDS: Final = 0.01
INFO_SECONDS: Final = 1.0
#: `go depth N` looks no further than this times 2^N simulations.
SIMULATIONS_PER_DEPTH: Final = 16
DEEPEST: Final = 24
MEBIBYTE: Final = 1 << 20


@dataclass(frozen=True)
class Task:
    """A position to think about, until the limits are reached or the task is cancelled."""

    number: int
    game: ShogiGame
    options: EngineOptions
    started: float
    only: tuple[Move, ...] = ()
    simulations: int | None = None
    depth: int | None = None

    def plan(self) -> tuple[GumbelSettings, int | None]:
        """How the tree grows, and the simulations after which it is complete."""
        match self.options.mode:
            case Mode.POLICY:
                return GumbelSettings(), 0
            case Mode.VALUE1:
                each_once = len(self.only) or len(self.game.legal_moves())
                return GumbelSettings(max_considered=MAX_LEGAL_MOVES, value_scale=VALUES_ALONE), each_once
        limits = [limit for limit in (self.simulations, self._depth_limit()) if limit is not None]
        if self.simulations is not None:
            return GumbelSettings(), min(limits)  # reproducible: batches change nothing
        return GumbelSettings(leaves_per_move=TIMED_LEAVES_PER_MOVE), min(limits, default=None)

    @property
    def grows(self) -> bool:
        """Is the number of simulations open?"""
        return self.options.mode is Mode.SEARCH and self.simulations is None

    def is_deep_enough(self, thought: Thought) -> bool:
        return self.depth is not None and bool(thought.views) and len(thought.views[0].line) >= self.depth

    def _depth_limit(self) -> int | None:
        return None if self.depth is None else SIMULATIONS_PER_DEPTH << min(self.depth, DEEPEST)


class Thinker:
    """Loads and searches in its own thread. All methods return at once; the queue tells what came of them."""

    def __init__(self, events: SimpleQueue[Event]) -> None:
        self._events = events
        self._orders: SimpleQueue[EngineOptions | Task | None] = SimpleQueue()
        self._wanted = 0
        self._latest: tuple[int, Thought] | None = None
        self._inference: Inference | None = None
        self._batch = FIRST_BATCH
        threading.Thread(target=self._work, name="thinker", daemon=True).start()

    def load(self, options: EngineOptions) -> None:
        """Answered by `Loaded` or `Failed`."""
        self._orders.put(options)

    def think(self, task: Task) -> None:
        """Answered by `Progress` now and then, and by `Finished` unless it is cancelled."""
        self._wanted = task.number
        self._orders.put(task)

    def cancel(self) -> None:
        self._wanted = 0

    def close(self) -> None:
        """Ends the thread, at its next step."""
        self.cancel()
        self._orders.put(None)

    def latest(self, task: int) -> Thought | None:
        """The newest thought about a task, None when there is none yet."""
        latest = self._latest
        return latest[1] if latest is not None and latest[0] == task else None

    # ---- in the thread

    def _work(self) -> None:
        while (order := self._orders.get()) is not None:
            try:
                if isinstance(order, Task):
                    self._think(order)
                else:
                    self._load(order)
            except KeiseiError as error:
                self._events.put(Failed(str(error)))
            except Exception as error:  # noqa: BLE001  # a thread that died silently would leave the GUI waiting
                self._events.put(Failed(f"the search failed with {error!r}; please report it"))

    def _load(self, options: EngineOptions) -> None:
        # Threads that spin while they wait for each other lose all their speed beside another engine on the same cores.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        import torch

        from keisei.core.devices import choose_device
        from keisei.core.inference import Inference
        from keisei.evaluation.checkpoint_network import find_checkpoint, load_network

        torch.set_num_threads(options.threads)
        network, _ = load_network(find_checkpoint(options.model))
        device = choose_device("auto")
        self._inference = Inference(
            network.to(device), device=device, precision="fp32", num_threads=options.threads
        )
        self._warm_up()
        self._events.put(Loaded())

    def _warm_up(self) -> None:
        """The first passes are slow; they should not cost thinking time."""
        search = self._search(Task(0, ShogiGame(), EngineOptions(), time.monotonic()), GumbelSettings())
        search.add_simulations(FIRST_BATCH)
        for _ in range(2):
            self._timed_step(search)

    def _search(self, task: Task, settings: GumbelSettings) -> GumbelSearch:
        from keisei.evaluation.gumbel_search import GumbelSearch

        if self._inference is None:
            raise RuntimeError("a network must be loaded before a task is given")
        return GumbelSearch(self._inference, [task.game], settings, only=task.only)

    def _think(self, task: Task) -> None:
        settings, total = task.plan()
        search = self._search(task, settings)
        search.add_simulations(FIRST_BUDGET if task.grows else total or 0)
        published = shown = -math.inf
        while self._wanted == task.number:
            is_complete = self._timed_step(search) == 0 and not _extend(search, task, total)
            now = time.monotonic()
            if is_complete or now - published >= PUBLISH_SECONDS:
                thought = _thought(search, task, now)
                self._latest = task.number, thought
                published = now
                is_complete = is_complete or task.is_deep_enough(thought)
            if is_complete:
                self._events.put(Finished(task.number))
                return
            if now - shown >= INFO_SECONDS:
                self._events.put(Progress(task.number, thought))
                shown = now

    def _timed_step(self, search: GumbelSearch) -> int:
        """One step; the batch is made to fit the time that a step may take."""
        begun = time.perf_counter()
        judged = search.step(self._batch)
        if judged:
            fitting = int(STEP_SECONDS * judged / (time.perf_counter() - begun))
            self._batch = max(1, min(fitting, 2 * self._batch, LARGEST_BATCH))
        return judged


def _extend(search: GumbelSearch, task: Task, total: int | None) -> bool:
    """Doubles the simulations; False when the search is complete."""
    spent = search.simulations()
    if not task.grows or (total is not None and spent >= total):
        return False
    if search.bytes > task.options.hash_mebibytes * MEBIBYTE:
        return False
    search.add_simulations(spent)
    return not search.is_finished()  # it still is where the outcome is proven


def _thought(search: GumbelSearch, task: Task, now: float) -> Thought:
    shown = search.root_moves()[: task.options.multi_pv]
    views = tuple(MoveView(root, tuple(search.line(root.move))) for root in shown)
    return Thought(views, search.simulations(), now - task.started)
