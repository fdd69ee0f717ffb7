"""`keisei report`: one file, also for a run with a hostile name, and in a real browser."""

from pathlib import Path

import pytest
from browsers import open_browser
from command_line import call_keisei
from recorded_runs import HOSTILE, record_run

Capture = pytest.CaptureFixture[str]


def test_a_report_is_written_into_the_runs_folder(capsys: Capture, tmp_path: Path) -> None:
    run = record_run(tmp_path, "quiet-lance", updates=10, games=2)
    called = call_keisei(capsys, "report", "quiet-lance", "--runs", tmp_path)
    assert called.code == 0, called.err
    assert str(run.path / "report.html") in called.out
    assert "<h1>quiet-lance</h1>" in (run.path / "report.html").read_text(encoding="utf-8")


def test_what_cannot_be_is_refused(capsys: Capture, tmp_path: Path) -> None:
    record_run(tmp_path, "quiet-lance", updates=2, games=1)
    call_keisei(capsys, "report", "quiet-lanse", "--runs", tmp_path).assert_refused(
        1, "did you mean 'quiet-lance'"
    )
    absent = tmp_path / "absent" / "report.html"
    called = call_keisei(capsys, "report", "quiet-lance", "--runs", tmp_path, "--output", absent)
    called.assert_refused(1, str(absent), "No such file")


def test_in_a_browser_nothing_is_asked_for_and_nothing_runs(capsys: Capture, tmp_path: Path) -> None:
    run = record_run(tmp_path, "quiet-lance", updates=30, games=8, black=HOSTILE)
    hostile = run.path.rename(tmp_path / HOSTILE.replace("/", "_"))
    assert call_keisei(capsys, "report", hostile).code == 0
    grounds = set()
    with open_browser() as browser:
        for scheme in ("light", "dark"):
            page = browser.new_page(color_scheme=scheme, viewport={"width": 390, "height": 800})
            requests: list[str] = []
            complaints: list[str] = []
            page.on("request", lambda request, seen=requests: seen.append(request.url))
            page.on("console", lambda message, heard=complaints: heard.append(message.text))
            page.goto((hostile / "report.html").as_uri())
            assert page.title().startswith("<img src=x"), "and not 'stolen'"
            assert page.locator("article svg").count() >= 3
            assert page.evaluate("document.documentElement.scrollWidth") == 390, "fits a phone"
            grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
            assert len(requests) == 1
            assert complaints == []
    assert len(grounds) == 2, "light and dark"
