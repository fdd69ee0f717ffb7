"""Callbacks: told everything, able to stop nothing; async ones share one loop in one thread and never hold up a run."""

import asyncio
import functools
import logging
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from tiny_runs import Listener, new_run, tiny_config, train

from keisei.record.journal_reader import JournalReader
from keisei.training.callbacks import MAX_WAITING, CallbackRunner, installed_callbacks
from keisei.training.events import TrainingEvent, TrainingFinished, UpdateFinished

PATIENCE_SECONDS = 20.0

Errors = list[tuple[str, BaseException]]


def event(update: int = 1) -> UpdateFinished:
    return UpdateFinished(update, 64 * update, {"loss": 1.0})


@pytest.fixture
def errors() -> Errors:
    return []


@pytest.fixture
def runner_of(errors: Errors) -> Iterator[Callable[..., CallbackRunner]]:
    """Makes runners that report to ``errors``, and closes them."""
    runners: list[CallbackRunner] = []

    def make(*callbacks: object) -> CallbackRunner:
        runners.append(CallbackRunner(callbacks, lambda name, error: errors.append((name, error))))
        return runners[-1]

    yield make
    for runner in runners:
        runner.close(0.1)


class Broken:
    """A callback that fails in its own way."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __call__(self, event: TrainingEvent) -> None:
        raise self.error


# ---- CB: an error in a callback stops nothing


@pytest.mark.parametrize("error", [ValueError("no"), KeyError(3), SystemExit(1), RuntimeError()])
def test_cb_an_error_is_reported_and_the_next_callback_is_told(
    runner_of: Callable[..., CallbackRunner], errors: Errors, error: BaseException
) -> None:
    listener = Listener()
    runner_of(Broken(error), listener).emit(event())
    assert listener.events == [event()]
    assert errors == [("Broken", error)]


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(1), asyncio.CancelledError()])
def test_cb_an_error_in_an_async_callback_is_reported_and_the_loop_lives_on(
    runner_of: Callable[..., CallbackRunner], errors: Errors, error: BaseException
) -> None:
    heard: list[int] = []

    async def broken(event: TrainingEvent) -> None:
        if event.update == 1:
            raise error

    async def well(event: TrainingEvent) -> None:
        heard.append(event.update)

    runner = runner_of(broken, well)
    for update in (1, 2, 3):
        runner.emit(event(update))
    runner.close(PATIENCE_SECONDS)
    assert heard == [1, 2, 3]
    assert [found for _, found in errors] == [error]
    assert "broken" in errors[0][0]


def test_cb_keyboard_interrupts_are_the_users_and_pass(runner_of: Callable[..., CallbackRunner]) -> None:
    with pytest.raises(KeyboardInterrupt):
        runner_of(Broken(KeyboardInterrupt())).emit(event())


def test_cb_a_run_with_broken_callbacks_trains_to_its_end_and_records_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken_later(event: TrainingEvent) -> None:
        raise LookupError("later")

    run, listener = new_run(tmp_path), Listener()
    report = train(run, tiny_config(2), Broken(ValueError("at once")), broken_later, listener)
    assert report.update == 2
    assert listener.of(TrainingFinished)
    with JournalReader(run.journal_path) as journal:
        messages = [entry.content.message for entry in journal.events()]
    told = len(listener.events)
    assert messages.count("Broken: ValueError: at once") == told
    assert sum("LookupError: later" in message for message in messages) == told
    assert "callback Broken failed: ValueError: at once; training goes on" in caplog.text


# ---- T5: one event loop


def test_t5_all_async_callbacks_share_one_loop_in_one_thread_for_the_whole_run(
    runner_of: Callable[..., CallbackRunner],
) -> None:
    loops: set[int] = set()
    threads: set[int] = set()

    async def note(_: TrainingEvent) -> None:
        loops.add(id(asyncio.get_running_loop()))
        threads.add(threading.get_ident())

    async def note_too(event: TrainingEvent) -> None:
        await asyncio.sleep(0)
        await note(event)

    runner = runner_of(note, note_too)
    for update in range(1, 20):
        runner.emit(event(update))
    runner.close(PATIENCE_SECONDS)
    assert len(loops) == len(threads) == 1
    assert threads != {threading.get_ident()}


def test_t5_closing_ends_the_thread(errors: Errors) -> None:
    before = threading.active_count()
    with CallbackRunner([], lambda name, error: errors.append((name, error))):
        assert threading.active_count() == before + 1
    assert threading.active_count() == before


def test_t5_what_was_told_before_the_end_is_still_heard(runner_of: Callable[..., CallbackRunner]) -> None:
    heard: list[int] = []

    async def slow(event: TrainingEvent) -> None:
        for _ in range(50):
            await asyncio.sleep(0)
        heard.append(event.update)

    runner = runner_of(slow)
    for update in (1, 2, 3):
        runner.emit(event(update))
    runner.close(PATIENCE_SECONDS)
    assert sorted(heard) == [1, 2, 3]


def test_any_awaitable_will_do(runner_of: Callable[..., CallbackRunner]) -> None:
    heard: list[str] = []

    class Promise:
        def __await__(self) -> Generator[None, None, None]:
            heard.append("awaited")
            yield from asyncio.sleep(0).__await__()

    runner = runner_of(lambda _: Promise())
    runner.emit(event())
    runner.close(PATIENCE_SECONDS)
    assert heard == ["awaited"]


# ---- T6: slow listeners hold up nobody


def test_t6_a_callback_that_never_finishes_does_not_block(
    runner_of: Callable[..., CallbackRunner], errors: Errors
) -> None:
    """Were the emitter to wait, this test would not end. What the listener misses is reported, not kept."""
    released = threading.Event()

    async def stuck(_: TrainingEvent) -> None:
        await asyncio.to_thread(released.wait, PATIENCE_SECONDS)

    runner, extra = runner_of(stuck), 5
    for update in range(1, MAX_WAITING + extra + 1):
        runner.emit(event(update))
    assert len(errors) == extra
    assert all(f"more than {MAX_WAITING} events wait" in str(error) for _, error in errors)
    released.set()


def test_t6_a_callback_that_catches_up_is_told_again(
    runner_of: Callable[..., CallbackRunner], errors: Errors
) -> None:
    gate, caught_up, heard = threading.Event(), threading.Event(), []

    async def waits_at_the_gate(event: TrainingEvent) -> None:
        await asyncio.to_thread(gate.wait, PATIENCE_SECONDS)
        heard.append(event.update)
        if len(heard) == MAX_WAITING:
            caught_up.set()

    runner = runner_of(waits_at_the_gate)
    for update in range(1, MAX_WAITING + 2):
        runner.emit(event(update))
    assert len(errors) == 1
    gate.set()
    assert caught_up.wait(PATIENCE_SECONDS)
    runner.emit(event(1000))
    runner.close(PATIENCE_SECONDS)
    assert 1000 in heard
    assert len(errors) == 1


def test_t6_the_end_of_a_run_waits_only_so_long_for_a_stuck_callback(
    errors: Errors, caplog: pytest.LogCaptureFixture
) -> None:
    released = threading.Event()

    async def stuck(_: TrainingEvent) -> None:
        await asyncio.get_running_loop().run_in_executor(None, released.wait, PATIENCE_SECONDS)

    runner = CallbackRunner([stuck], lambda name, error: errors.append((name, error)))
    runner.emit(event())
    with caplog.at_level(logging.WARNING):
        runner.close(timeout_seconds=0.05)
    assert "did not finish" in caplog.text
    released.set()


# ---- callbacks of installed packages

PLUGIN = """
def good():
    return heard.append

def bad():
    raise RuntimeError("cannot be made")

heard = []
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed package with a callback that works and two that do not."""
    (tmp_path / "listening_plugin.py").write_text(PLUGIN)
    info = tmp_path / "listening_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: listening-plugin\nVersion: 1.0\n")
    entries = "good = listening_plugin:good\nbad = listening_plugin:bad\nmissing = no_such_module:callback\n"
    (info / "entry_points.txt").write_text(f"[keisei.callbacks]\n{entries}")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("listening_plugin", None)


def test_packages_offer_callbacks_through_an_entry_point(plugin: None, tmp_path: Path) -> None:
    train(new_run(tmp_path / "runs"), tiny_config(1))
    heard = sys.modules["listening_plugin"].heard
    assert isinstance(heard[-1], TrainingFinished)


def test_cb_a_package_whose_callback_cannot_be_loaded_is_named_and_left_out(
    plugin: None, caplog: pytest.LogCaptureFixture
) -> None:
    assert len(installed_callbacks()) == 1
    assert "callback bad cannot be loaded (RuntimeError: cannot be made)" in caplog.text
    assert "callback missing cannot be loaded (ModuleNotFoundError" in caplog.text


def test_callbacks_without_a_name_are_reported_by_their_class(
    runner_of: Callable[..., CallbackRunner], errors: Errors
) -> None:
    runner_of(functools.partial(Broken(ValueError("x")))).emit(event())
    assert errors[0][0] == "partial"
