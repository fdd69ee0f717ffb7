"""A real browser for tests of the page; where something is missing, the test says what to install."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from page_server import PageServer

pytest.importorskip("nicegui", reason="the page needs NiceGUI: pip install 'keisei[web]'")
playwright_api = pytest.importorskip(
    "playwright.sync_api", reason="browser tests need Playwright: pip install playwright"
)
expect = playwright_api.expect
#: Longer than anything takes on a busy machine.
PATIENCE_MS = 60_000
expect.set_options(timeout=PATIENCE_MS)
if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

BROWSERS = ("chromium-headless-shell", "chromium")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 800}


@contextmanager
def launched_browser() -> Iterator[Browser]:
    """Chromium without a window."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip(
            "browser tests need Chromium: apt-get install chromium-headless-shell fonts-ipafont-gothic"
        )
    with playwright_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


@contextmanager
def visiting(browser: Browser, server: PageServer, path: str, **options: object) -> Iterator[Page]:
    """A visitor who must see no error in the console and send no request to another host."""
    context = browser.new_context(**{"viewport": DESK, **options})  # type: ignore[arg-type]
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    complaints: list[str] = []
    hosts: set[str] = set()
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: hosts.add(request.url.split("/")[2]))
    page.on("websocket", lambda socket: hosts.add(socket.url.split("/")[2]))
    page.goto(server.base + path)
    yield page
    context.close()
    assert complaints == []
    assert hosts <= {f"127.0.0.1:{server.port}", ""}  # data: addresses have no host
