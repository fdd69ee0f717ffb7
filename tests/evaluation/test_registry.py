"""The registry: nothing that anybody adds is lost, and nothing that does not belong together is mixed."""

import json
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from keisei.errors import RegistryError
from keisei.evaluation import registry as registry_module
from keisei.evaluation.registry import Conditions, Registry
from keisei.record.run_lock import waiting_lock

CONDITIONS = Conditions(max_plies=512, opening_plies=4)


def open_registry(path: Path) -> Registry:
    return Registry(path, CONDITIONS)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "shared" / "registry.json"


def test_results_add_up_and_are_read_back(path: Path) -> None:
    book = open_registry(path)
    book.add("b", "a", (0, 1, 2, 3, 4))
    book.add("a", "b", (5, 0, 0, 0, 0))
    book.add("c", "a", (1, 0, 0, 0, 0))
    for reader in (book, open_registry(path)):
        assert reader.results == {("a", "b"): [9, 3, 2, 1, 0], ("a", "c"): [0, 0, 0, 0, 1]}
        assert reader.pairs_of("b", "a") == reader.pairs_of("a", "b") == 15
        assert reader.pairs_of("b", "c") == 0


def test_ratings_are_in_the_file_as_plain_json(path: Path) -> None:
    book = open_registry(path)
    book.add("mate1", "random", (1, 0, 2, 0, 9))
    book.add("ab1", "mate1", (0, 0, 0, 0, 12))
    content = json.loads(path.read_text())
    by_name = {entry["name"]: entry for entry in content["ratings"]}
    assert [entry["name"] for entry in content["ratings"]] == ["ab1", "mate1", "random"]
    assert by_name["random"]["elo"] == 0
    assert by_name["mate1"]["low"] < by_name["mate1"]["elo"] < by_name["mate1"]["high"]
    assert by_name["ab1"]["elo"] is None
    assert by_name["ab1"]["low"] > 0
    assert math.isinf(next(rating for rating in book.ratings() if rating.name == "ab1").high)


def test_several_writers_lose_nothing(path: Path) -> None:
    def add(writer: int) -> None:
        book = open_registry(path)
        for _ in range(10):
            book.add(f"player {writer % 2}", "random", (1, 0, 1, 0, 1))

    with ThreadPoolExecutor(4) as writers:
        list(writers.map(add, range(4)))
    assert open_registry(path).results == {
        ("player 0", "random"): [20, 0, 20, 0, 20],
        ("player 1", "random"): [20, 0, 20, 0, 20],
    }


def test_a_writer_sees_what_others_have_added(path: Path) -> None:
    mine, other = open_registry(path), open_registry(path)
    other.add("x", "random", (1, 0, 0, 0, 1))
    assert not mine.results
    mine.add("y", "random", (1, 0, 0, 0, 1))
    assert set(mine.results) == {("random", "x"), ("random", "y")}


def test_a_registry_that_stays_locked_is_reported(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry_module, "LOCK_PATIENCE_SECONDS", 0.1)
    path.parent.mkdir()
    with (
        waiting_lock(path.with_name("registry.json.lock"), 1.0) as is_held,
        pytest.raises(RegistryError, match=r"kept the registry .* locked"),
    ):
        assert is_held
        open_registry(path).add("a", "b", (1, 0, 0, 0, 0))


def test_results_under_other_conditions_are_refused(path: Path) -> None:
    open_registry(path).add("a", "b", (1, 0, 0, 0, 0))
    with pytest.raises(
        RegistryError, match=r"max_plies=512.*cannot be compared.*max_plies=256.*another --registry"
    ):
        Registry(path, Conditions(max_plies=256, opening_plies=4))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"format_version": 1, "conditions": {"max_plies": 1}, "results": []}',
        '{"format_version": 1, "conditions": {"max_plies": 512, "opening_plies": 4}, "results": [{}]}',
        '{"format_version": 1, "conditions": {"max_plies": 512, "opening_plies": 4},'
        ' "results": [{"first": "a", "second": "b", "pairs": [1, 2, 3]}]}',
        '{"format_version": 1, "conditions": {"max_plies": 512, "opening_plies": 4},'
        ' "results": [{"first": "b", "second": "a", "pairs": [1, 2, 3, 4, 5]}]}',
        '{"format_version": 1, "conditions": {"max_plies": 512, "opening_plies": 4},'
        ' "results": [{"first": "a", "second": "b", "pairs": [1, -2, 3, 4, 5]}]}',
        "[" * 100_000,
    ],
)
def test_a_damaged_registry_is_named_and_left_alone(path: Path, text: str) -> None:
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(RegistryError, match=r"registry\.json is damaged .*restore it from a copy"):
        open_registry(path)
    assert path.read_text() == text


def test_a_registry_of_a_newer_keisei_is_left_alone(path: Path) -> None:
    open_registry(path).add("a", "b", (1, 0, 0, 0, 0))
    text = path.read_text().replace('"format_version": 1', '"format_version": 2')
    path.write_text(text)
    with pytest.raises(RegistryError, match=r"has format 2.*upgrade"):
        open_registry(path)
    assert path.read_text() == text


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(RegistryError, match=r"file.*registry\.json"):
        open_registry(tmp_path / "file" / "registry.json").add("a", "b", (1, 0, 0, 0, 0))
