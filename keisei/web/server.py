"""The page as a server: routes, guard and limits put together, and run until Ctrl-C."""

import asyncio
import os
import socket
import webbrowser
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import Any, Final

import uvicorn
from fastapi import FastAPI
from nicegui import Client, core, ui
from socketio.packet import Packet  # type: ignore[import-untyped]  # socketio has no types
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from keisei.errors import WebError
from keisei.web.access import Access
from keisei.web.downloads import download_routes
from keisei.web.guard import MAX_MESSAGE_BYTES, MAX_SOCKETS, Guard
from keisei.web.layout import PANELS, head, no_run
from keisei.web.opponents import Opponents
from keisei.web.panels import games, learning, now, openings, play, strength, workers
from keisei.web.run_library import RunLibrary
from keisei.web.visit import Visit

#: Pages that may be open or being opened; one that never connects is forgotten after a minute.
MAX_PAGES: Final = 4 * MAX_SOCKETS
MAX_CONNECTIONS: Final = 512
#: The page, and the engines that it starts, take what a run leaves of the processors.
NICENESS: Final = 10

#: How often the server looks whether Ctrl-C was pressed; uvicorn by itself does ten times a second.
TICK_SECONDS: Final = 0.5

#: The event by which NiceGUI sends files.
DOWNLOAD: Final = "download"

#: How often journals are looked at for news: an update is shown half of it later on average. More than the feed's
#: own pause, or every other look would come too early.
BEAT_SECONDS: Final = 0.25

#: Panels that have something to show before there is any run.
RUNLESS_PATHS: Final = frozenset({"/play"})

Builder = Callable[[Visit], None]


def make_app(library: RunLibrary, opponents: Opponents, access: Access) -> Guard:
    """The whole application behind its guard."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    app.include_router(download_routes(library))
    builders: Mapping[str, Builder] = {
        "/": now.build,
        "/learning": learning.build,
        "/strength": strength.build,
        "/games": partial(games.build, opponents=opponents),
        "/play": partial(play.build, opponents=opponents),
        "/openings": partial(openings.build, opponents=opponents),
        "/workers": workers.build,
    }
    for path in PANELS:
        _add_page(path, builders[path], library)
    # No refresh of bindings: controls write into plain objects that nobody else changes.
    ui.run_with(app, title="Keisei", show_welcome_message=False, binding_refresh_interval=None)
    core.app.timer(BEAT_SECONDS, library.beat)
    _bound_sockets()
    return Guard(app, access)


def _add_page(path: str, build: Builder, library: RunLibrary) -> None:
    @ui.page(path, title=f"{PANELS[path]} – Keisei")
    def page(request: Request) -> Response | None:
        if len(Client.instances) > MAX_PAGES:
            return PlainTextResponse("Too many pages are open; close some.\n", HTTPStatus.SERVICE_UNAVAILABLE)
        visit = Visit.of(request, library)
        head(visit, path)
        if visit.run is None and path not in RUNLESS_PATHS:
            no_run(visit)
        else:
            build(visit)
        return None


def _bound_sockets() -> None:
    """Polling is another way into the same socket, past the count of the guard: only WebSockets stay."""
    core.app.config.socket_io_js_transports = ["websocket"]
    core.sio.eio.transports = ["websocket"]
    core.sio.eio.max_http_buffer_size = MAX_MESSAGE_BYTES
    core.sio.packet_class = _Packet


class _Packet(Packet):  # type: ignore[misc]  # likewise
    """A message that is searched for bytes only where there can be any; that took an eighth of the page's time."""

    @classmethod
    def data_is_binary(cls, data: Any) -> bool:
        # Of `Packet`, not of the parent: its search calls itself through the class.
        return isinstance(data, list) and data[:1] == [DOWNLOAD] and bool(Packet.data_is_binary(data))


def serve(
    library: RunLibrary,
    opponents: Opponents,
    access: Access,
    *,
    announce: Callable[[str], None],
    open_browser: bool,
) -> None:
    """Serve until Ctrl-C; ``announce`` gets the address, with the token in it, once."""
    listener = _listen(access)
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    access = replace(access, port=listener.getsockname()[1])
    config = uvicorn.Config(
        make_app(library, opponents, access),
        log_level="warning",
        access_log=False,
        server_header=False,
        ws="websockets-sansio",
        ws_max_size=MAX_MESSAGE_BYTES,
        # Compression would cost more of the trainer's processor than it saves on loopback.
        ws_per_message_deflate=False,
        limit_concurrency=MAX_CONNECTIONS,
        # Browsers hold their sockets open; Ctrl-C must not wait for them.
        timeout_graceful_shutdown=1,
    )
    announce(access.address())
    if open_browser:
        webbrowser.open(access.address())
    try:
        _Server(config).run(sockets=[listener])
    finally:
        library.close()


class _Server(uvicorn.Server):
    """Asks seldom whether it is to end: every time wakes a process on a core that a trainer may want."""

    async def main_loop(self) -> None:
        while not await self.on_tick(0):
            await asyncio.sleep(TICK_SECONDS)


def _listen(access: Access) -> socket.socket:
    """The socket to serve on; port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in access.host else socket.AF_INET
    try:
        return socket.create_server((access.host, access.port), family=family)
    except (OSError, OverflowError) as error:
        raise WebError(
            f"cannot listen on --host {access.host!r} --port {access.port!r}: {error}; choose another --port"
        ) from error
