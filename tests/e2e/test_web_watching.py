"""The page in a real browser: games in play, who is winning, reviews, priors, ratings, workers, a run that trains."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from page_browser import expect, launched_browser, visiting
from page_server import PageServer, serving
from recorded_runs import HOSTILE, random_game, record_run, watched, worker_states
from tiny_runs import tiny_options

from keisei.record.journal import Game, Journal, PlayerRating
from keisei.record.journal_schema import Thought, WatchedPly

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ENGINE = f"toy={sys.executable} {Path(__file__).parents[1] / 'toy_usi_engine.py'}"
WAIT_SECONDS = 0.1
ALL_PANELS = ("/", "/learning", "/strength", "/games", "/play", "/openings", "/workers")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageServer]:
    folder = tmp_path_factory.mktemp("runs")
    record_run(folder, "quiet-lance", updates=40, games=24)
    with serving(folder, "--engine", ENGINE) as server:
        yield server


def counter(page: Page) -> int:
    return int(page.locator(".k-counter").inner_text().split()[0])


# ---- games in play


def test_boards_move_by_themselves_and_show_value_and_likely_moves(
    browser: Browser, server: PageServer
) -> None:
    with visiting(browser, server, "/") as page:
        before = counter(page)  # at once: the game has only so many plies
        page.wait_for_function(f"parseInt(document.querySelector('.k-counter').innerText) > {before}")
        expect(page.locator(".k-thumb")).to_have_count(4)
        expect(page.get_by_role("img", name="Black's chance to win").first).to_be_visible()
        expect(page.locator(".k-board .shaft").first).to_be_visible()
        expect(page.locator(".k-thought")).to_contain_text("would play")


def test_another_board_is_followed_and_scrubbing_pauses(browser: Browser, server: PageServer) -> None:
    with visiting(browser, server, "/") as page:
        page.get_by_role("button", name="Follow board 3").click()
        expect(page.get_by_text("Game 102")).to_be_visible()
        page.get_by_role("button", name="First position").click()
        page.get_by_role("button", name="One move on").click()
        expect(page.get_by_role("switch", name="follow the game")).not_to_be_checked()
        expect(page.locator(".k-counter")).to_have_text("1 / 70")
        page.get_by_role("button", name="Follow board 1").click()
        expect(page.get_by_role("switch", name="follow the game")).to_be_checked()
        expect(page.get_by_text("Game 100")).to_be_visible()


def test_plies_that_the_trainer_adds_lengthen_the_game(browser: Browser, tmp_path: Path) -> None:
    run = record_run(tmp_path, "live", updates=5, games=1)
    more = watched(random_game(1000), 0, 100, 40)
    with (
        serving(tmp_path) as server,
        visiting(browser, server, "/") as page,
        Journal(run.journal_path) as journal,
    ):
        expect(page.locator(".k-counter")).to_contain_text("/ 30")
        journal.add_watched_plies(6, more[30:])
        journal.commit()
        expect(page.locator(".k-counter")).to_contain_text("/ 40")


# ---- kept games


def test_the_graph_of_who_is_winning_scrubs_the_board(browser: Browser, server: PageServer) -> None:
    with visiting(browser, server, "/games") as page:
        graph = page.locator(".k-graph")
        expect(graph).to_be_visible()
        box = graph.bounding_box()
        assert box is not None
        graph.click(position={"x": box["width"] / 2, "y": 10})
        expect(page.locator(".k-counter")).to_have_text("100 / 200")
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] / 4, box["y"] + 10, steps=4)
        page.mouse.up()
        expect(page.locator(".k-counter")).to_have_text("50 / 200")


def test_a_game_without_thoughts_is_reviewed_by_an_engine(browser: Browser, server: PageServer) -> None:
    with visiting(browser, server, "/games") as page:
        page.get_by_role("button", name="Open game 21").click()  # the shortest of those that nobody watched
        expect(page.get_by_text("Game 21, update")).to_be_visible()
        expect(page.locator(".k-graph")).to_be_hidden()
        page.get_by_role("button", name="Review").click()
        expect(page.get_by_text("Reviewed by toy.")).to_be_visible()
        expect(page.locator(".k-graph")).to_be_visible()
        expect(page.locator(".k-thought")).to_contain_text("60%")


def test_priors_of_a_checkpoint_stand_beside_what_was_played(browser: Browser, server: PageServer) -> None:
    with visiting(browser, server, "/openings") as page:
        page.get_by_label("prior of").click()
        page.get_by_role("option", name="toy").click()
        expect(page.get_by_role("cell", name="60.0%")).to_be_visible()
        expect(page.get_by_role("cell", name="30.0%")).to_be_visible()


# ---- strength and workers


def test_ratings_the_strongest_and_the_exam_are_told(browser: Browser, server: PageServer) -> None:
    with visiting(browser, server, "/strength") as page:
        expect(page.get_by_text("Strongest with 95 % confidence: +187 Elo [+147, +227]")).to_be_visible()
        expect(page.get_by_text("Rating of every checkpoint")).to_be_visible()
        expect(page.locator("canvas").first).to_be_visible()
        expect(page.get_by_role("cell", name="61.0% of 100")).to_be_visible()
        page.get_by_label("axis").click()
        page.get_by_role("option", name="hours").click()
        expect(page.locator("canvas").nth(1)).to_be_visible()


def test_the_match_in_play_is_told_with_its_games_and_its_score(browser: Browser, tmp_path: Path) -> None:
    run = record_run(tmp_path, "live", updates=5, games=1)
    match = {"opponent": "greedy", "planned": 400, "wins": 80, "draws": 11, "losses": 29}
    with run.lock(), Journal(run.journal_path) as journal:
        journal.add_state(5, "evaluation", {"measuring": [4], "match": match})
        journal.commit()
        with serving(tmp_path) as server, visiting(browser, server, "/strength") as page:
            expect(
                page.get_by_text("after update 4, 120 of 400 games against greedy: 71.2% so far")
            ).to_be_visible()


def test_every_worker_has_its_line(browser: Browser, server: PageServer) -> None:
    with visiting(browser, server, "/workers") as page:
        expect(page.get_by_role("cell", name="waiting for slot")).to_be_visible()
        expect(page.get_by_text("5 free, 2 lent, 1 filled")).to_be_visible()
        expect(page.get_by_text("Rows by policy lag")).to_be_visible()


# ---- robustness


def test_nothing_that_a_journal_says_is_run_as_html(browser: Browser, tmp_path: Path) -> None:
    run = record_run(tmp_path, "hostile", updates=5, games=2)
    thought = Thought(0.5, ((HOSTILE, 0.9), ("7g7f", 0.5)))
    state = worker_states(6)
    state["workers"]["0"]["state"] = HOSTILE  # type: ignore[index]
    with Journal(run.journal_path) as journal:
        journal.add_metrics(6, 6, {"workers": 4.0, "plies_per_second": 1.0})
        journal.add_watched_plies(6, [WatchedPly(9, 9, HOSTILE, HOSTILE, thought, HOSTILE)] * 2)
        journal.add_game(6, Game(HOSTILE, "b", random_game(1).start_sfen, ("7g7f",), None, "x"), [thought])
        journal.add_rating(6, PlayerRating(f"policy:{HOSTILE}", 1.0, 0.0, 2.0, 1))
        journal.add_state(6, "workers", state)
        journal.add_state(6, "evaluation", {"measuring": [HOSTILE]})
    with serving(tmp_path) as server:
        for panel in ("/", "/games", "/strength", "/workers"):
            with visiting(browser, server, panel) as page:
                expect(page.locator(".k-card").first).to_be_visible()
                if panel in ("/games", "/workers"):
                    expect(page.get_by_text("onerror=").first).to_be_visible()
                assert page.title().endswith("Keisei")
                assert page.locator("img[src='x']").count() == 0


def test_every_panel_shows_a_run_that_is_training(
    browser: Browser, tmp_path: Path, start_keisei: Callable[..., subprocess.Popen[str]]
) -> None:
    options = tiny_options(
        10**6,
        env__starts__standard=1,
        env__starts__sfens=0,
        env__starts__sfen_file="null",
        training__checkpoint_interval_updates=50,
    )
    trainer = start_keisei("train", "--runs", tmp_path, "--name", "live", *options)
    journal = tmp_path / "live" / "journal.sqlite"
    while not journal.exists():
        with suppress(subprocess.TimeoutExpired):
            pytest.fail(f"the trainer ended with {trainer.wait(WAIT_SECONDS)}")
    with serving(tmp_path) as server:
        for panel in ALL_PANELS:
            with visiting(browser, server, panel) as page:
                expect(page.locator(".k-card").first).to_be_visible()
                if panel == "/":
                    expect(page.locator(".k-tile", has_text="state")).to_contain_text("training")
                    expect(page.locator(".k-board .shaft").first).to_be_visible()
    assert trainer.poll() is None
