"""The page of a report: complete, without a script, and proof against hostile names."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest
from recorded_runs import HOSTILE, record_run

from keisei.commands.report_facts import RunRecord, Setting
from keisei.commands.report_page import report_html
from keisei.record.journal_reader import Entry
from keisei.record.journal_schema import Evaluation, Event, PlayerRating

#: Elements that bring something from elsewhere or run something.
ACTIVE = {
    "script",
    "img",
    "iframe",
    "object",
    "embed",
    "link",
    "base",
    "form",
    "audio",
    "video",
    "use",
    "image",
    "a",
}
VOID = {"meta", "br"}


class Reader(HTMLParser):
    """Collects elements, attributes and text; complains about tags that do not match."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    return reader


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    return RunRecord.read(record_run(tmp_path_factory.mktemp("runs"), "quiet-lance", updates=30, games=8))


def assert_harmless(reader: Reader) -> None:
    assert not set(reader.elements) & ACTIVE
    assert not {name for name in reader.attributes if name.startswith("on") or name in ("src", "href")}


def test_a_report_has_everything_and_needs_nothing(record: RunRecord) -> None:
    page = report_html(record)
    reader = read(page)
    assert_harmless(reader)
    for words in (
        "quiet-lance",
        "Score against fixed opponents",
        "95 % interval",
        "Explained variance",
        "The newest",
        "worker 2 ended and was replaced",
        "training.total_plies",
        "This run did not record them.",
    ):
        assert words in reader.text
    assert "default-src 'none'" in page
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page
    assert "url(" not in page
    assert "@import" not in page


def test_hostile_text_stays_text(record: RunRecord) -> None:
    result = Evaluation(HOSTILE, 2, 1, 0, 1, 0.5, 0.1, 0.9)
    hostile = replace(
        record,
        name=HOSTILE,
        state=HOSTILE,
        config_text=HOSTILE,
        changed=[Setting(HOSTILE, HOSTILE, HOSTILE)],
        evaluations=[Entry(row=1, update=1, time=0.0, content=result)],
        events=[Entry(row=1, update=1, time=0.0, content=Event(HOSTILE, HOSTILE))],
        machine={HOSTILE: HOSTILE},
    )
    reader = read(report_html(hostile))
    assert_harmless(reader)
    assert reader.text.count(HOSTILE) >= 9


def test_a_rating_that_says_nothing_does_not_flatten_the_curve(record: RunRecord) -> None:
    loose = PlayerRating("policy:a@1", 0.0, -8000.0, 8000.0, 2)
    tight = PlayerRating("policy:a@2", 120.0, 80.0, 160.0, 400)
    rated = [Entry(row=row, update=row, time=0.0, content=rating) for row, rating in ((1, loose), (2, tight))]
    page = report_html(replace(record, ratings=rated, evaluations=[], series={}, games=()))
    labels = re.findall(r'class="right"[^>]*>([^<]*)<', page)
    assert "150" in labels
    assert not any("k" in label for label in labels)


def test_a_run_without_anything_is_a_page_too() -> None:
    now = datetime.now(UTC)
    reader = read(report_html(RunRecord("empty", "It is at rest.", now, now, "", None)))
    assert_harmless(reader)
    for words in ("It has not been measured", "No update has ended", "No game was kept", "other settings"):
        assert words in reader.text


def test_a_real_run(measured_run, runs: Path) -> None:
    reader = read(report_html(RunRecord.read(measured_run)))
    assert_harmless(reader)
    assert "torch" in reader.text
    assert "random" in reader.text
    assert "env.num_games" in reader.text
