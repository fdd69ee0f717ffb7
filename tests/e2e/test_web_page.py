"""The page in a real browser: every panel, live figures, games played by mouse and by keyboard, hostile names."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import psutil
import pytest
from page_browser import DESK, PATIENCE_MS, PHONE, expect, launched_browser, visiting
from page_server import PageServer, serving, start_page
from recorded_runs import HOSTILE, PLIES_PER_UPDATE, metrics_of, random_game, record_run

from keisei.record.journal import Event, Game, Journal
from keisei.record.journal_reader import JournalReader

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ENGINE = f"toy={sys.executable} {Path(__file__).parents[1] / 'toy_usi_engine.py'}"
#: Panel, and what stands on it once it is there.
PANELS = {
    "/": "learning normally",
    "/learning": "Explained variance",
    "/strength": "95 % interval",
    "/games": "24 games",
    "/play": "Choose and press New game.",
    "/openings": "What it plays",
    "/workers": "rollouts waiting",
}
#: A game that Black wins against an engine that always plays its first legal move by name.
WON_GAME = (  # noqa: SIM905
    "5i6h 1a1b 6h7h 1c1d 2h6h 1b1c 1g1f 1d1e 1f1e 1c1d 1e1d 2a1c 1d1c+ 2b1a P*1b 1a2b 1c2b 2c2d 2b3a 2d2e "
    "3a4a 5a4a 1b1a+ 2e2f B*2c 4a3a 1i1c+ 2f2g G*4a"
).split()


MoveMaker = Callable[["Page", str], None]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    record_run(folder, "old-pawn", updates=30, games=6, seed=2)
    record_run(folder, "quiet-lance", updates=60, games=24)
    return folder


@pytest.fixture(scope="module")
def server(runs: Path) -> Iterator[PageServer]:
    with serving(runs, "--engine", ENGINE) as server:
        yield server


@pytest.mark.parametrize("panel", PANELS)
def test_panel_renders_at_desk_and_phone_width(browser: Browser, server: PageServer, panel: str) -> None:
    with visiting(browser, server, f"{panel}?run=quiet-lance") as page:
        expect(page.get_by_text(PANELS[panel]).first).to_be_visible()
        expect(page.get_by_role("link", name="Now")).to_be_visible()
        page.set_viewport_size(PHONE)  # type: ignore[arg-type]
        # Charts follow the new width a moment later.
        page.wait_for_function(f"document.documentElement.scrollWidth <= {PHONE['width']}")


def test_charts_are_drawn_and_compared(browser: Browser, server: PageServer) -> None:
    with visiting(browser, server, "/learning?run=quiet-lance") as page:
        expect(page.locator("canvas").first).to_be_visible()
        page.get_by_label("compare with").click()
        page.get_by_role("option", name="old-pawn").click()
        # Quasar draws into a canvas: what a line is called can only be asked of the chart itself.
        names = """() => {
          const chart = getElement(document.querySelector('.nicegui-echart').id.slice(1)).chart;
          return chart.getOption().series.map((line) => line.name);
        }"""
        page.wait_for_function(f"({names})().length === 2")
        assert page.evaluate(names) == ["quiet-lance", "old-pawn"]


def test_csv_and_records_can_be_taken_away(browser: Browser, server: PageServer) -> None:
    with visiting(browser, server, "/learning?run=quiet-lance") as page:
        with page.expect_download() as download:
            page.get_by_text("Download CSV").click()
        lines = download.value.path().read_text().splitlines()
    assert lines[0].startswith("update,plies,time,approx_kl,")
    assert len(lines) == 61


def test_kept_game_is_scrubbed_by_mouse_and_keyboard(browser: Browser, server: PageServer) -> None:
    with visiting(browser, server, "/games?run=quiet-lance") as page:
        counter = page.locator(".k-counter")
        expect(counter).to_have_text("0 / 200")
        page.get_by_role("button", name="Last position").click()
        expect(counter).to_have_text("200 / 200")
        page.get_by_role("slider", name="Ply").locator("[tabindex='0']").press("ArrowLeft")
        expect(counter).to_have_text("199 / 200")
        page.locator(".k-moves button").nth(7).click()
        expect(counter).to_have_text("7 / 200")
        page.get_by_role("button", name="Open game 20").press("Enter")
        expect(page.get_by_text("Game 20, update")).to_be_visible()


def test_filter_narrows_the_list(browser: Browser, server: PageServer) -> None:
    with visiting(browser, server, "/games?run=quiet-lance") as page:
        page.get_by_label("result").click()
        page.get_by_role("option", name="draw").click()
        expect(page.get_by_text("draw 7 · max plies 7")).to_be_visible()
        page.get_by_label("player").fill("nobody")
        expect(page.get_by_text("No kept game passes this filter.")).to_be_visible()


def test_games_are_leafed_through_and_sorted_as_a_whole(browser: Browser, server: PageServer) -> None:
    with visiting(browser, server, "/games?run=quiet-lance") as page:
        expect(page.get_by_role("button", name="Open game 24")).to_be_visible()
        page.get_by_role("button", name="Next page").click()
        expect(page.get_by_role("button", name="Open game 14")).to_be_visible()
        expect(page.get_by_role("button", name="Open game 24")).to_have_count(0)
        page.get_by_role("columnheader", name="game").click()
        expect(page.get_by_role("button", name="Open game 1", exact=True)).to_be_visible()


def test_opening_tree_is_walked(browser: Browser, server: PageServer) -> None:
    with visiting(browser, server, "/openings?run=quiet-lance") as page:
        first = page.get_by_role("button", name="Play ").first
        move = first.inner_text()
        first.click()
        expect(page.locator(".k-note").filter(has_text=move)).to_be_visible()
        page.get_by_role("button", name="back").click()
        expect(page.get_by_text("Start position")).to_be_visible()


# ---- playing


def begin_game(page: Page) -> None:
    page.get_by_label("limit").click()
    page.get_by_role("option", name="0.2 s a move").click()
    page.get_by_role("button", name="New game").click()
    expect(page.get_by_text("Your move.")).to_be_visible()


def places(usi: str) -> tuple[str, str]:
    return f'[data-place="{usi[:2]}"]', f'[data-place="{usi[2:4]}"]'


def answer_promotion(page: Page, usi: str, *, asked: bool) -> None:
    if asked:
        page.get_by_role("button", name="Promote" if usi.endswith("+") else "Do not").press("Enter")


def is_asked(usi: str) -> bool:
    """In `WON_GAME`: moves into the last three ranks of what is not promoted yet; a pawn on the last rank must."""
    return usi in ("1d1c+", "1i1c+")


def play_won_game(page: Page, make_move: MoveMaker) -> None:
    for index in range(0, len(WON_GAME), 2):
        usi = WON_GAME[index]
        make_move(page, usi)
        answer_promotion(page, usi, asked=is_asked(usi))
        so_far = " ".join(WON_GAME[: index + 2])
        expect(page.locator(".k-note").filter(has_text=so_far)).to_be_visible()
    expect(page.get_by_text("You win: checkmate.")).to_be_visible()


def by_click(page: Page, usi: str) -> None:
    origin, target = places(usi)
    page.locator(origin).click()
    expect(page.locator(f"{target}.target")).to_be_visible()
    page.locator(target).click()


def by_drag(page: Page, usi: str) -> None:
    origin, target = places(usi)
    page.locator(origin).hover()
    page.mouse.down()
    page.locator(target).hover()
    page.mouse.up()


def by_mouse(page: Page, usi: str) -> None:
    """Click with the pieces of one half of the board, drag those of the other."""
    (by_click if usi[0] in "12345" else by_drag)(page, usi)


def by_keyboard(page: Page, usi: str) -> None:
    origin, target = places(usi)
    page.locator(origin).press("Enter")
    expect(page.locator(f"{target}.target")).to_be_visible()
    page.locator(target).press("Space")


@pytest.mark.parametrize("make_move", [by_mouse, by_keyboard])
def test_whole_game_is_played(browser: Browser, server: PageServer, make_move: MoveMaker) -> None:
    with visiting(browser, server, "/play") as page:
        begin_game(page)
        play_won_game(page, make_move)


def test_arrow_keys_walk_the_board(browser: Browser, server: PageServer) -> None:
    with visiting(browser, server, "/play") as page:
        begin_game(page)
        page.locator('[data-place="7g"]').focus()
        page.keyboard.press("ArrowUp")
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.dataset.place") == "6f"


def test_hint_undo_resign_and_save(browser: Browser, server: PageServer) -> None:
    with visiting(browser, server, "/play") as page:
        begin_game(page)
        by_click(page, "7g7f")
        expect(page.locator(".k-note").filter(has_text="7g7f 1a1b")).to_be_visible()
        expect(page.get_by_text("The engine expects +0.12 pawns for itself: 1a1b")).to_be_visible()
        page.get_by_role("button", name="Hint").click()
        expect(page.get_by_text("Hint: 1g1f")).to_be_visible()
        with page.expect_download() as download:
            page.get_by_role("button", name="Save KIF").click()
        assert "７六歩" in download.value.path().read_text(encoding="utf-8")
        page.get_by_role("button", name="Undo").click()
        expect(page.locator(".k-note").filter(has_text="7g7f")).to_have_count(0)
        page.get_by_role("button", name="Resign").click()
        expect(page.get_by_text("You lose: resignation.")).to_be_visible()


# ---- robustness


def test_names_are_never_run_as_html(browser: Browser, tmp_path: Path) -> None:
    run = record_run(tmp_path, "hostile", updates=5, games=2, black=HOSTILE)
    with Journal(run.journal_path) as journal:
        game = random_game(3)
        journal.add_game(6, Game(HOSTILE, HOSTILE, game.start_sfen, (HOSTILE,), "black", HOSTILE))
        journal.add_event(6, Event(HOSTILE, HOSTILE))
        journal.add_metrics(6, 6, {HOSTILE: 1.0})
    run.path.rename(tmp_path / f"hostile{HOSTILE.replace('/', '')}")
    with serving(tmp_path) as server:
        for panel in ("/", "/games", "/learning", "/openings"):
            with visiting(browser, server, panel) as page:
                expect(page.locator(".k-card").first).to_be_visible()
                if panel in ("/", "/games"):
                    expect(page.get_by_text("onerror=").first).to_be_visible()
                assert page.title().endswith("Keisei")
                assert page.locator("img[src='x']").count() == 0


def test_new_updates_appear_within_a_second(browser: Browser, tmp_path: Path) -> None:
    run = record_run(tmp_path, "live", updates=5, games=1)
    with (
        serving(tmp_path) as server,
        visiting(browser, server, "/") as page,
        Journal(run.journal_path) as journal,
    ):
        plies = page.locator(".k-tile", has_text="plies").locator(".k-value").first
        expect(plies).to_have_text(f"{5 * PLIES_PER_UPDATE:,}")
        lags: list[float] = []
        # The machine may be busy with other tests; that it can be done once is what counts.
        for update in range(6, 16):
            journal.add_metrics(update, update * PLIES_PER_UPDATE, metrics_of(update, Random(update)))
            journal.commit()
            began = time.monotonic()
            expect(plies).to_have_text(f"{update * PLIES_PER_UPDATE:,}")
            lags.append(time.monotonic() - began)
            if lags[-1] <= 1.0:
                break
        assert min(lags) <= 1.0, lags


def test_curves_grow_while_somebody_looks(browser: Browser, tmp_path: Path) -> None:
    run = record_run(tmp_path, "live", updates=5, games=1)
    points = """() => getElement(document.querySelector('.nicegui-echart').id.slice(1)).chart
      ?.getOption()?.series?.[0]?.data?.length"""
    with (
        serving(tmp_path) as server,
        visiting(browser, server, "/learning") as page,
        Journal(run.journal_path) as journal,
    ):
        page.wait_for_function(f"({points})() === 5")
        for update in (6, 7):
            journal.add_metrics(update, update * PLIES_PER_UPDATE, metrics_of(update, Random(update)))
            journal.commit()
            page.wait_for_function(f"({points})() === {update}")


def test_page_comes_back_after_the_server_restarts(browser: Browser, runs: Path) -> None:
    server = start_page(runs)
    context = browser.new_context(viewport=DESK)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(server.base + "/games?run=quiet-lance")
    expect(page.locator(".k-counter")).to_have_text("0 / 200")
    server.stop()
    again = start_page(runs, port=server.port)
    try:
        # The new server knows nothing of the old page: it must load itself anew and work.
        page.wait_for_event("load", timeout=PATIENCE_MS)
        page.get_by_role("button", name="Last position").click()
        expect(page.locator(".k-counter")).to_have_text("200 / 200")
    finally:
        context.close()
        again.stop()


def test_two_visitors_do_not_disturb_each_other(browser: Browser, server: PageServer) -> None:
    with (
        visiting(browser, server, "/games?run=quiet-lance") as one,
        visiting(browser, server, "/games?run=quiet-lance") as other,
    ):
        one.get_by_role("button", name="Last position").click()
        expect(one.locator(".k-counter")).to_have_text("200 / 200")
        expect(other.locator(".k-counter")).to_have_text("0 / 200")
        other.get_by_role("button", name="One move on").click()
        expect(other.locator(".k-counter")).to_have_text("1 / 200")
        expect(one.locator(".k-counter")).to_have_text("200 / 200")


LARGE_UPDATES, LARGE_GAMES = 3_800, 5_000
OPENING_SECONDS = 2.0
#: On a machine that is busy with other tests: as long as a small run takes to open there, and so many times that.
OPENING_RATIO = 3.0
PAGE_BYTES = 300 * 10**6
ATTEMPTS = 6


def test_large_run_opens_in_two_seconds(browser: Browser, tmp_path: Path) -> None:
    record_run(tmp_path, "small", updates=5, games=1)
    run = record_run(tmp_path, "large", updates=LARGE_UPDATES, games=LARGE_GAMES)
    with JournalReader(run.journal_path) as journal:
        assert sum(len(journal.series(name)) for name in journal.metric_names()) >= 100_000
        assert len(journal.games()) == LARGE_GAMES
    with serving(tmp_path) as server:
        for panel, text in (("/games", "5,000 games"), ("/learning", "Explained variance")):
            small_text = "1 game" if panel == "/games" else text
            seconds = []
            for _ in range(ATTEMPTS):
                usual = seconds_to_open(browser, server, f"{panel}?run=small", small_text)
                seconds.append((seconds_to_open(browser, server, f"{panel}?run=large", text), usual))
                if seconds[-1][0] <= max(OPENING_SECONDS, OPENING_RATIO * usual):
                    break
            else:
                pytest.fail(f"{panel}: seconds of the large run and of a small one: {seconds}")
        assert psutil.Process(server.process.pid).memory_info().rss <= PAGE_BYTES


def seconds_to_open(browser: Browser, server: PageServer, panel: str, text: str) -> float:
    began = time.monotonic()
    with visiting(browser, server, panel) as page:
        expect(page.get_by_text(text).first).to_be_visible()
        if panel.startswith("/learning"):
            expect(page.locator("canvas").first).to_be_visible()
        return time.monotonic() - began
