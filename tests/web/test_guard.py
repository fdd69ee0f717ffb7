"""Hostile clients against a real server process: wrong names, foreign sites, no token, too much of everything."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest
from page_server import ANSWER_SECONDS, PageServer, ask, serving
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from keisei.web.guard import MAX_MESSAGE_BYTES, MAX_SOCKETS
from keisei.web.server import MAX_PAGES

TOKEN = "a-token-of-our-own-0123456789"
SOCKET_PATH = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
FOREIGN_HOSTS = [
    "evil.example",
    "evil.example:80",
    "127.0.0.1.evil.example",
    "",
    "localhost@evil.example",
    "[::2]",
]
FOREIGN_ORIGINS = [
    "http://evil.example",
    "null",
    "",
    "http://127.0.0.1.evil.example",
    "http://localhost@evil.example",
]


@pytest.fixture(scope="module")
def token_server(runs: Path) -> Iterator[PageServer]:
    with serving(runs, "--token", TOKEN) as server:
        yield server


def open_socket(server: PageServer, **headers: str) -> connect:
    """A WebSocket as a browser would open it, with headers of our choice; `host` replaces the real one."""
    origin = headers.pop("origin", server.base)
    others = {name: value for name, value in headers.items() if name != "host"}
    return connect(
        f"ws://{headers.get('host') or f'127.0.0.1:{server.port}'}{SOCKET_PATH}",
        host="127.0.0.1",
        port=server.port,
        origin=origin,  # type: ignore[arg-type]
        additional_headers=others,
        proxy=None,
        max_size=None,
    )


async def status_of(attempt: connect) -> int:
    """101 when the socket opens, else the status of the refusal."""
    try:
        async with attempt:
            return 101
    except InvalidStatus as error:
        return error.response.status_code


def test_page_is_served_with_headers_that_keep_it_on_this_host(server: PageServer) -> None:
    response = ask("GET", server.base)
    assert response.status_code == 200
    assert "default-src 'self'" in response.headers["content-security-policy"]
    assert response.headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
def test_foreign_host_is_refused(server: PageServer, host: str) -> None:
    for path in ("/", "/files/quiet-lance/metrics.csv", "/_nicegui_ws/socket.io/?EIO=4&transport=polling"):
        response = ask("GET", server.base + path, headers={"host": host})
        assert response.status_code == 400, (path, host)
        assert "quiet-lance" not in response.text


@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
def test_foreign_origin_is_refused(server: PageServer, origin: str) -> None:
    for method in ("GET", "POST"):
        assert ask(method, server.base, headers={"origin": origin}).status_code == 403


def test_own_origin_is_served(server: PageServer) -> None:
    assert ask("GET", server.base, headers={"origin": server.base}).status_code == 200


def test_socket_opens_for_the_own_page_only(server: PageServer) -> None:
    async def attempts() -> dict[str, int]:
        tried = {"own": await status_of(open_socket(server))}
        for origin in FOREIGN_ORIGINS:
            tried[f"origin {origin}"] = await status_of(open_socket(server, origin=origin))
        tried["no origin"] = await status_of(open_socket(server, origin=None))  # type: ignore[arg-type]
        host = f"evil.example:{server.port}"
        tried["host"] = await status_of(open_socket(server, host=host, origin=f"http://{host}"))
        return tried

    statuses = asyncio.run(attempts())
    assert statuses.pop("own") == 101
    assert set(statuses.values()) == {403}, statuses


def test_without_the_token_nothing_is_told(token_server: PageServer) -> None:
    for path in ("/", "/learning", "/files/quiet-lance/metrics.csv", "/?token=", "/?token=wrong"):
        for cookies in ({}, {f"keisei_{token_server.port}": "wrong"}, {f"keisei_{token_server.port}": TOKEN}):
            response = ask("GET", token_server.base + path, cookies=cookies)
            assert response.status_code == 401, (path, cookies)
            assert "quiet-lance" not in response.text
    assert asyncio.run(status_of(open_socket(token_server))) == 403


def test_the_token_buys_a_strict_cookie_and_leaves_the_address(token_server: PageServer) -> None:
    assert token_server.address.endswith(f"?token={TOKEN}")
    with httpx.Client(timeout=ANSWER_SECONDS) as client:
        response = client.get(f"{token_server.base}/games?run=old-pawn&token={TOKEN}")
        cookie = response.headers["set-cookie"].lower()
        assert response.headers["location"] == "/games?run=old-pawn"
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert TOKEN not in cookie
        assert client.get(token_server.base).status_code == 200
    bought = response.headers["set-cookie"].partition(";")[0]
    assert asyncio.run(status_of(open_socket(token_server, cookie=bought))) == 101


def test_redirect_after_the_token_stays_on_this_host(token_server: PageServer) -> None:
    response = ask("GET", f"{token_server.base}//evil.example/?token={TOKEN}")
    assert response.headers["location"] == "/evil.example/"


def test_large_bodies_are_refused(server: PageServer) -> None:
    body = b"x" * (MAX_MESSAGE_BYTES + 1)
    chunks = (b"x" * 1024 for _ in range(MAX_MESSAGE_BYTES // 1024 + 1))
    assert ask("POST", server.base, content=body).status_code == 413
    # A chunked body has no length beforehand; no route reads one, so it is dropped unread.
    assert ask("POST", server.base, content=chunks).status_code in (405, 413)


def test_large_socket_messages_close_the_socket(server: PageServer) -> None:
    async def send_large() -> int | None:
        async with open_socket(server) as socket:
            await socket.recv()
            await socket.send("4" + "x" * MAX_MESSAGE_BYTES)
            try:
                while True:
                    await asyncio.wait_for(socket.recv(), ANSWER_SECONDS)
            except ConnectionClosed as closed:
                return closed.rcvd.code if closed.rcvd else None

    assert asyncio.run(send_large()) == 1009


def test_number_of_clients_is_bounded(runs: Path) -> None:
    async def crowd(server: PageServer) -> tuple[int, int]:
        async with AsyncExitStack() as stack:
            sockets = [await stack.enter_async_context(open_socket(server)) for _ in range(MAX_SOCKETS)]
            one_too_many = await status_of(open_socket(server))
            await sockets[0].close()
            return one_too_many, await _status_when_free(server)

    with serving(runs) as server:
        assert asyncio.run(crowd(server)) == (403, 101)
        # Side by side: a page that nobody connects to is forgotten after a minute.
        with httpx.Client(timeout=ANSWER_SECONDS) as client, ThreadPoolExecutor(4) as visitors:
            pages = visitors.map(client.get, [f"{server.base}/play"] * (MAX_PAGES + 1))
            statuses = Counter(page.status_code for page in pages)
        assert statuses == {200: MAX_PAGES, 503: 1}


async def _status_when_free(server: PageServer) -> int:
    """The server learns of a closed socket a moment later than the client."""
    async with asyncio.timeout(ANSWER_SECONDS):
        while (status := await status_of(open_socket(server))) != 101:
            pass
    return status


def test_polling_is_no_way_around_the_socket(server: PageServer) -> None:
    response = ask("GET", f"{server.base}/_nicegui_ws/socket.io/?EIO=4&transport=polling")
    assert response.status_code == 400


@pytest.mark.parametrize(
    "path",
    [
        "/files/..%2f..%2fetc/metrics.csv",
        "/files/%2e%2e/metrics.csv",
        "/files/quiet-lance%2f..%2fold-pawn/metrics.csv",
        "/files/quiet-lance/games/..%2f..%2fconfig.yaml",
        "/files/quiet-lance/config.yaml",
        "/files/quiet-lance/games/1.py",
        "/_nicegui/../../../../etc/passwd",
        "/_nicegui/3.18.0/static/..%2f..%2f..%2fREADME.md",
        "/quiet-lance/journal.sqlite",
    ],
)
def test_no_file_of_the_disk_is_served(server: PageServer, path: str) -> None:
    response = ask("GET", httpx.URL(server.base).copy_with(raw_path=path.encode()))
    assert response.status_code in (404, 422)
    assert "total_plies" not in response.text
    assert "root:" not in response.text
