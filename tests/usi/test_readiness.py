"""Networks are loaded when their options change, and `readyok` waits for the last of them."""

import re
from queue import SimpleQueue

from keisei.usi.events import Event, Failed
from keisei.usi.options import EngineOptions
from keisei.usi.readiness import Readiness
from keisei.usi.thinker import Thinker

PATIENCE_SECONDS = 60.0
LAST = "the-last-one"


class Attempts:
    """A readiness whose networks do not exist: what the thinker says it cannot find is what it was told to load."""

    def __init__(self) -> None:
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._thinker = Thinker(self._events)
        self.readiness = Readiness(self._thinker)

    def models(self) -> list[str]:
        """The models tried, in order; nothing can be requested after this."""
        self.readiness.request(EngineOptions(model=LAST))
        self._thinker.close()
        tried: list[str] = []
        while LAST not in tried:
            event = self._events.get(timeout=PATIENCE_SECONDS)
            assert isinstance(event, Failed)
            tried += re.findall("no run called '(.*?)'", event.message)
        return tried[:-1]


def test_nothing_is_loaded_twice() -> None:
    attempts = Attempts()
    for _ in range(2):
        attempts.readiness.request(EngineOptions(model="a", threads=1))
    attempts.readiness.note_loaded()
    attempts.readiness.request(EngineOptions(model="a", threads=1, multi_pv=3))
    assert attempts.models() == ["a"]


def test_another_model_or_number_of_threads_is_loaded_also_back_again() -> None:
    attempts = Attempts()
    for model, threads in [("a", 1), ("b", 1), ("b", 2), ("a", 1)]:
        attempts.readiness.request(EngineOptions(model=model, threads=threads))
    assert attempts.models() == ["a", "b", "b", "a"]


def test_readyok_is_owed_until_the_last_network_is_there_and_said_once_for_each_asking() -> None:
    readiness = Attempts().readiness
    readiness.request(EngineOptions(model="a"))
    readiness.owe()
    readiness.request(EngineOptions(model="b"))
    readiness.owe()
    readiness.note_loaded()
    assert readiness.take_due() == 0
    readiness.note_loaded()
    assert [readiness.take_due(), readiness.take_due()] == [2, 0]
