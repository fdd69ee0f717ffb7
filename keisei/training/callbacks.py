"""Callbacks: anyone may listen to a run, and nobody who listens can stop it.

A callback is a callable that takes a `TrainingEvent`, plain or ``async``. Packages offer theirs under the entry point
group ``keisei.callbacks``; each entry is a callable without arguments that returns a callback.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import inspect
import logging
import threading
from collections.abc import Awaitable, Callable, Iterable
from types import TracebackType
from typing import Self

from keisei.training.events import TrainingEvent

Callback = Callable[[TrainingEvent], Awaitable[None] | None]
ErrorReport = Callable[[str, BaseException], None]

ENTRY_POINT_GROUP = "keisei.callbacks"
#: Events that may wait for slow async callbacks; further ones are not delivered to them, and that is reported.
MAX_WAITING = 256
CLOSE_TIMEOUT_SECONDS = 5.0

log = logging.getLogger(__name__)


def installed_callbacks() -> list[Callback]:
    """The callbacks that installed packages offer; one that cannot be loaded is reported and left out."""
    callbacks: list[Callback] = []
    for entry in importlib.metadata.entry_points(group=ENTRY_POINT_GROUP):
        try:
            callbacks.append(entry.load()())
        except Exception as error:  # noqa: BLE001 a foreign package may fail in any way, training goes on
            log.error("callback %s cannot be loaded (%s: %s)", entry.name, type(error).__name__, error)
    return callbacks


class CallbackRunner:
    """Delivers events. Async callbacks share one event loop, in one thread, for the whole run."""

    def __init__(self, callbacks: Iterable[Callback], on_error: ErrorReport) -> None:
        self._callbacks = list(callbacks)
        self._on_error = on_error
        self._waiting = threading.BoundedSemaphore(MAX_WAITING)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="async callbacks", daemon=True)
        self._thread.start()

    def emit(self, event: TrainingEvent) -> None:
        """Tells every callback. An error in one is reported and goes no further."""
        for callback in self._callbacks:
            try:
                answer = callback(event)
            # A foreign callback may fail in any way, also by sys.exit(): training goes on.
            except (Exception, SystemExit) as error:  # noqa: BLE001
                self._on_error(_name(callback), error)
                continue
            if inspect.isawaitable(answer):
                self._schedule(callback, answer)

    def _schedule(self, callback: Callback, answer: Awaitable[None]) -> None:
        if not self._waiting.acquire(blocking=False):
            if inspect.iscoroutine(answer):
                answer.close()
            self._on_error(
                _name(callback), RuntimeError(f"more than {MAX_WAITING} events wait for it; one was skipped")
            )
            return
        asyncio.run_coroutine_threadsafe(self._guarded(callback, answer), self._loop)

    async def _guarded(self, callback: Callback, answer: Awaitable[None]) -> None:
        try:
            await answer
        # As in `emit`; what else passes through here would end the event loop for everybody.
        except (Exception, SystemExit, asyncio.CancelledError) as error:  # noqa: BLE001
            self._on_error(_name(callback), error)
        finally:
            self._waiting.release()

    def close(self, timeout_seconds: float = CLOSE_TIMEOUT_SECONDS) -> None:
        """Lets waiting callbacks finish for a while, then ends the event loop. A second call does nothing."""
        if not self._thread.is_alive():
            return
        finishing = asyncio.run_coroutine_threadsafe(self._finish(), self._loop)
        try:
            finishing.result(timeout_seconds)
        except TimeoutError:
            log.warning("async callbacks did not finish within %.0f s", timeout_seconds)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout_seconds)
        if not self._thread.is_alive():
            self._loop.close()

    async def _finish(self) -> None:
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        await asyncio.gather(*others, return_exceptions=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _name(callback: Callback) -> str:
    return getattr(callback, "__qualname__", type(callback).__name__)
