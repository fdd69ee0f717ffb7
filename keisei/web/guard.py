"""The door of the page: an ASGI layer in front of everything that NiceGUI serves.

NiceGUI answers any Host and takes a WebSocket from any Origin, so a page on the internet that is open in the same
browser could read a run (DNS rebinding, cross-site WebSocket hijacking). Here both are refused, for HTTP and
socket alike, before the framework sees them; so are requests without the token, bodies that are too large and
clients that are too many.
"""

import re
from collections.abc import Mapping
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from keisei.web.access import Access

MAX_MESSAGE_BYTES: Final = 64 * 1024
MAX_SOCKETS: Final = 32
COOKIE_SECONDS: Final = 7 * 24 * 3600
#: WebSocket close codes of RFC 6455: policy violation, try again later.
CLOSE_REFUSED: Final = 1008
CLOSE_FULL: Final = 1013

_HOST: Final = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?", re.I)

#: 'unsafe-eval' and 'unsafe-inline' are what Vue's run-time compiler and Quasar need; sources stay this host alone.
SECURITY_HEADERS: Final[Mapping[str, str]] = {
    "content-security-policy": (
        "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'self'; "
        "form-action 'self'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class BodyTooLargeError(Exception):
    """A request whose body turned out larger than it may be, after the application had begun to read it."""


class Guard:
    """Wraps the whole application; ``app`` is what it protects."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app = app
        self._access = access
        self._sockets = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match scope["type"]:
            case "http":
                await self._http(scope, receive, send)
            case "websocket":
                await self._websocket(scope, receive, send)
            case _:
                await self.app(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        refusal = self._refusal(headers, needs_origin=False) or self._login(scope, headers)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > MAX_MESSAGE_BYTES:
            await _too_large()(scope, receive, send)
            return
        began = False

        async def guarded_send(message: Message) -> None:
            nonlocal began
            if message["type"] == "http.response.start":
                began = True
                MutableHeaders(scope=message).update(SECURITY_HEADERS)
            await send(message)

        try:
            await self.app(scope, _bounded(receive), guarded_send)
        except BodyTooLargeError:
            if not began:
                await _too_large()(scope, receive, send)

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        if self._refusal(headers, needs_origin=True) is not None or not self._is_admitted(headers):
            await send({"type": "websocket.close", "code": CLOSE_REFUSED, "reason": "refused"})
            return
        if self._sockets >= MAX_SOCKETS:
            await send({"type": "websocket.close", "code": CLOSE_FULL, "reason": "too many clients"})
            return
        self._sockets += 1
        try:
            await self.app(scope, receive, send)
        finally:
            self._sockets -= 1

    def _refusal(self, headers: Headers, *, needs_origin: bool) -> Response | None:
        """The answer to a request that asks for another host or comes from another site's page."""
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or _name_in(hosts[0]) not in self._access.names:
            return PlainTextResponse("This page does not answer to that host name.\n", HTTPStatus.BAD_REQUEST)
        if not origins and not needs_origin:
            return None
        if len(origins) != 1 or not _is_same_origin(origins[0], hosts[0]):
            return PlainTextResponse("Requests from other sites are refused.\n", HTTPStatus.FORBIDDEN)
        return None

    def _login(self, scope: Scope, headers: Headers) -> Response | None:
        """Let holders of the cookie in, and give it to those who bring the token."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        offered = next((value for key, value in query if key == "token"), None)
        if offered is not None and self._access.is_token(offered):
            rest = urlencode([pair for pair in query if pair[0] != "token"])
            # A path of several slashes would read as another host's address.
            path = "/" + scope["path"].lstrip("/\\")
            response = RedirectResponse(path + (f"?{rest}" if rest else ""), HTTPStatus.SEE_OTHER)
            response.set_cookie(
                self._access.cookie_name,
                self._access.cookie_value,
                max_age=COOKIE_SECONDS,
                httponly=True,
                samesite="strict",
            )
            return response
        if self._is_admitted(headers):
            return None
        return PlainTextResponse(
            "A token is needed: open the address that `keisei web` printed when it started.\n",
            HTTPStatus.UNAUTHORIZED,
        )

    def _is_admitted(self, headers: Headers) -> bool:
        if self._access.token is None:
            return True
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self._access.cookie_name)
        except CookieError:
            return False
        return cookie is not None and self._access.is_cookie(cookie.value)


def _name_in(host: str) -> str | None:
    """The host name in a Host header, lower case and without port; None for what is no host."""
    match = _HOST.fullmatch(host)
    return match[1].strip("[]").lower() if match else None


def _is_same_origin(origin: str, host: str) -> bool:
    parts = urlsplit(origin)
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()


def _too_large() -> Response:
    return PlainTextResponse(
        f"Messages may have {MAX_MESSAGE_BYTES} bytes.\n", HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    )


def _bounded(receive: Receive) -> Receive:
    """``receive``, counting what comes: a chunked body has no length to check beforehand."""
    received = 0

    async def counting_receive() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > MAX_MESSAGE_BYTES:
            raise BodyTooLargeError
        return message

    return counting_receive
