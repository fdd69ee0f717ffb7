"""The thread that thinks: plans, reports, and lets go."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue

import pytest
from small_checkpoints import save_checkpoint

from keisei.shogi import MAX_LEGAL_MOVES, Move, ShogiGame
from keisei.usi.events import Event, Failed, Finished, Loaded, Progress
from keisei.usi.options import EngineOptions, Mode
from keisei.usi.thinker import SIMULATIONS_PER_DEPTH, Task, Thinker

PATIENCE_SECONDS = 60.0


def task(number: int = 1, mode: Mode = Mode.SEARCH, **limits: object) -> Task:
    return Task(number, ShogiGame(), EngineOptions(mode=mode), time.monotonic(), **limits)  # type: ignore[arg-type]


@pytest.fixture
def events() -> SimpleQueue[Event]:
    return SimpleQueue()


def loaded_thinker(events: SimpleQueue[Event], folder: Path) -> Thinker:
    thinker = Thinker(events)
    thinker.load(EngineOptions(model=str(save_checkpoint(folder)), threads=1))
    assert events.get(timeout=PATIENCE_SECONDS) == Loaded()
    return thinker


@pytest.fixture
def thinker(events: SimpleQueue[Event], tmp_path: Path) -> Iterator[Thinker]:
    thinker = loaded_thinker(events, tmp_path)
    yield thinker
    thinker.close()


def test_a_number_of_simulations_makes_the_search_reproducible() -> None:
    settings, total = task(simulations=300).plan()
    assert (settings.leaves_per_move, total) == (1, 300)


def test_a_clock_lets_the_search_grow() -> None:
    settings, total = task().plan()
    assert settings.leaves_per_move > 1
    assert total is None
    assert task().grows
    assert not task(simulations=5).grows


def test_a_depth_is_a_number_of_simulations_at_the_latest() -> None:
    assert task(depth=3).plan()[1] == SIMULATIONS_PER_DEPTH * 8
    assert task(depth=10**9).plan()[1] == task(depth=100).plan()[1]
    assert task(depth=10, simulations=50).plan()[1] == 50


def test_the_modes_without_search_have_their_own_plans() -> None:
    assert task(mode=Mode.POLICY).plan()[1] == 0
    settings, total = task(mode=Mode.VALUE1).plan()
    assert (settings.max_considered, total) == (MAX_LEGAL_MOVES, 30)
    assert task(mode=Mode.VALUE1, only=(Move.from_usi("7g7f"),)).plan()[1] == 1


def test_a_task_is_reported_and_its_thought_kept(thinker: Thinker, events: SimpleQueue[Event]) -> None:
    thinker.think(task(7, simulations=40))
    first = events.get(timeout=PATIENCE_SECONDS)
    assert isinstance(first, Progress)
    assert first.thought.nodes == 1
    heard = first
    while isinstance(heard, Progress):  # another one for every second of a slow machine
        heard = events.get(timeout=PATIENCE_SECONDS)
    assert heard == Finished(7)
    thought = thinker.latest(7)
    assert thought is not None
    assert thought.nodes == 41
    assert thinker.latest(6) is None
    thinker.close()


def test_an_open_search_ends_only_for_another(thinker: Thinker, events: SimpleQueue[Event]) -> None:
    thinker.think(task(1))
    assert isinstance(events.get(timeout=PATIENCE_SECONDS), Progress)
    thinker.think(task(2, simulations=5))
    heard = [events.get(timeout=PATIENCE_SECONDS)]
    while heard[-1] != Finished(2):
        heard.append(events.get(timeout=PATIENCE_SECONDS))
    assert Finished(1) not in heard
    thinker.close()


def test_a_task_that_was_cancelled_is_not_reported(thinker: Thinker, events: SimpleQueue[Event]) -> None:
    thinker.think(task(1))
    thinker.cancel()
    thinker.think(task(2, simulations=5))
    while (event := events.get(timeout=PATIENCE_SECONDS)) != Finished(2):
        assert isinstance(event, Progress)
    thinker.close()


def test_the_memory_option_ends_an_open_search(thinker: Thinker, events: SimpleQueue[Event]) -> None:
    small = EngineOptions(hash_mebibytes=0)
    thinker.think(Task(1, ShogiGame(), small, time.monotonic()))
    while (event := events.get(timeout=PATIENCE_SECONDS)) != Finished(1):
        assert isinstance(event, Progress)
    thinker.close()


def test_what_goes_wrong_is_told(events: SimpleQueue[Event], tmp_path: Path) -> None:
    thinker = Thinker(events)
    thinker.load(EngineOptions(model=str(tmp_path)))
    failed = events.get(timeout=PATIENCE_SECONDS)
    assert isinstance(failed, Failed)
    assert str(tmp_path) in failed.message
    thinker.think(task())
    unexpected = events.get(timeout=PATIENCE_SECONDS)
    assert isinstance(unexpected, Failed)
    assert "network must be loaded" in unexpected.message
    thinker.close()


def test_closing_ends_the_thread(events: SimpleQueue[Event], tmp_path: Path) -> None:
    others = set(threading.enumerate())  # other tests may have left theirs
    thinker = loaded_thinker(events, tmp_path)
    (thread,) = (new for new in set(threading.enumerate()) - others if new.name == "thinker")
    thinker.think(task(1))
    thinker.close()
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive()
