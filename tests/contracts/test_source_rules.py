"""Faults of the source itself, found by reading it: each rule is first shown to catch what it should."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import source_rules as rules
from source_rules import Source

import keisei

PACKAGE = Path(keisei.__file__).parent
#: Named by the requirements; there is no third.
MANAGERS = {"ParallelManager", "TrainingLoopManager"}
#: Where packages register what they bring along.
REGISTRIES = {"keisei/core/model_factory.py:_builders"}
RUN_ROOMS = {"core", "record", "training", "commands"}

Rule = Callable[[Source], Iterator[str]]


@pytest.fixture(scope="module")
def sources() -> list[Source]:
    return [Source.of(path, PACKAGE.parent) for path in sorted(PACKAGE.rglob("*.py"))]


def broken(rule: Rule, text: str) -> bool:
    return bool(list(rule(Source("planted.py", text))))


def everywhere(rule: Rule, sources: list[Source]) -> list[str]:
    return [found for source in sources for found in rule(source)]


@pytest.mark.parametrize(
    "text",
    [
        "try: f()\nexcept: g()",
        "try: f()\nexcept Exception: g()",
        "try: f()\nexcept (OSError, BaseException) as e: g(e)",
        "try: f()\nexcept Exception:  # noqa: BLE001\n    g()",
        "try: f()\nexcept KeyError: pass",
        "with contextlib.suppress(Exception): f()",
    ],
)
def test_23_the_scan_sees_swallowed_exceptions(text: str) -> None:
    assert broken(rules.swallowed_exceptions, text)


@pytest.mark.parametrize(
    "text",
    [
        "try: f()\nexcept KeyError: g()",
        "try: f()\nexcept BaseException:\n    close()\n    raise",
        "try: f()\nexcept Exception:  # noqa: BLE001 foreign code may fail in any way\n    g()",
        "try: f()\n# foreign code may fail in any way\nexcept Exception:\n    g()",
        "try: f()\nexcept Exception:\n    # foreign code may fail in any way\n    g()",
        "try: f()\nexcept FileNotFoundError:\n    pass  # somebody else was quicker",
        "with suppress(FileNotFoundError): f()",
    ],
)
def test_23_the_scan_lets_reasons_pass(text: str) -> None:
    assert not broken(rules.swallowed_exceptions, text)


def test_23_no_exception_is_swallowed(sources: list[Source]) -> None:
    assert everywhere(rules.swallowed_exceptions, sources) == []


def test_24_nothing_prints_beside_the_logger_and_the_console(sources: list[Source]) -> None:
    assert broken(rules.prints, "def f(): print('hello')")
    assert not broken(rules.prints, "console.print('hello')")
    assert everywhere(rules.prints, sources) == []


@pytest.mark.parametrize(
    ("text", "is_broken"),
    [
        ("def f(): wait(30)", True),
        ("def f(x):\n  if x > 0.003: g()", True),
        ("LIMIT = 30\ndef f(): wait(LIMIT)", False),
        ("def f(timeout=30): ...", False),
        ("def f(x): return x[0] + 2 * x[1] - x[-1] / 2", False),
        ("def f(x): return x / 2**30, x & 0xFF, x * 1e-9", False),
    ],
)
def test_25_the_scan_sees_magic_numbers(text: str, is_broken: bool) -> None:
    assert broken(rules.magic_numbers, text) == is_broken


def test_25_no_magic_numbers_where_a_run_is_driven_and_recorded(sources: list[Source]) -> None:
    """Formulae, notations and drawings elsewhere have numbers that are facts."""
    scanned = [source for source in sources if source.name.split("/")[1] in RUN_ROOMS]
    assert len(scanned) > 50
    assert everywhere(rules.magic_numbers, scanned) == []


def test_26_every_type_that_is_ignored_has_a_reason(sources: list[Source]) -> None:
    assert broken(rules.ignored_types, "x = f()  # type: ignore")
    assert broken(rules.ignored_types, "x = f()  # type: ignore[arg-type]")
    assert broken(rules.ignored_types, "x = f()  # type: ignore  # whatever it is")
    assert not broken(rules.ignored_types, "x = f()  # type: ignore[arg-type]  # f is typed wrongly")
    assert not broken(rules.ignored_types, "x = 'type: ignore'")
    assert everywhere(rules.ignored_types, sources) == []


def test_26_an_attribute_that_begins_as_none_says_so_in_its_type(sources: list[Source]) -> None:
    """Then mypy --strict refuses every use without a check."""
    assert broken(rules.filled_later, "class A:\n  def __init__(self):\n    self.x = None")
    assert not broken(rules.filled_later, "class A:\n  def __init__(self):\n    self.x: B | None = None")
    assert everywhere(rules.filled_later, sources) == []


def test_a1_there_are_two_managers_and_no_third(sources: list[Source]) -> None:
    found = {name for name in everywhere(rules.managers, sources) if not name.endswith("ContextManager")}
    assert found == MANAGERS


@pytest.mark.parametrize(
    ("text", "is_broken"),
    [
        ("cache = {}\ndef f(): cache[1] = 2", True),
        ("cache: list[int] = []\ndef f(): cache.append(2)", True),
        ("count = 0\ndef f():\n  global count\n  count += 1", True),
        ("class A:\n  def f(self): seen.add(1)\nseen = set()", True),
        ("TABLE = {1: 2}\ndef f(): return TABLE[1]", False),
        ("cache = {}\ndef f():\n  cache = {}\n  cache[1] = 2", False),
        ("cache = {}\ndef f(cache): cache.clear()", False),
        ("def f(self): self.cache[1] = 2", False),
    ],
)
def test_a2_the_scan_sees_global_state(text: str, is_broken: bool) -> None:
    assert broken(rules.global_state, text) == is_broken


def test_a2_no_module_has_state_besides_the_registries(sources: list[Source]) -> None:
    assert set(everywhere(rules.global_state, sources)) == REGISTRIES


def test_sig_no_alarm_signals(sources: list[Source]) -> None:
    """They exist neither on Windows nor in threads."""

    def alarms(source: Source) -> Iterator[str]:
        return rules.mentions(source, r"SIGALRM|^alarm$|^setitimer$")

    assert broken(alarms, "signal.signal(signal.SIGALRM, f)")
    assert broken(alarms, "signal.alarm(3)")
    assert everywhere(alarms, sources) == []


def test_t1_no_flag_says_that_something_is_being_processed(sources: list[Source]) -> None:
    def flags(source: Source) -> Iterator[str]:
        return rules.mentions(source, r"^_?(is_)?(processing|in_progress|updating)$")

    assert broken(flags, "self.processing = True")
    assert broken(flags, "self._is_processing = True")
    assert everywhere(flags, sources) == []


def test_t2_no_function_has_an_async_twin(sources: list[Source]) -> None:
    assert broken(rules.twins, "class A:\n  def run(self): ...\n  async def run_async(self): ...")
    assert not broken(rules.twins, "class A:\n  def run(self): ...\n  async def listen(self): ...")
    assert everywhere(rules.twins, sources) == []
