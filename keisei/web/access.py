"""Who may talk to the page: the address it listens on, the names it answers to, and the token."""

import hashlib
import hmac
import ipaddress
import secrets
import socket
from dataclasses import dataclass
from typing import Final, Self

import psutil

from keisei.errors import WebError

LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})
NEW_TOKEN: Final = "auto"
TOKEN_BYTES: Final = 18
LEAST_TOKEN_LENGTH: Final = 16


@dataclass(frozen=True)
class Access:
    """The rules of admission. Without a token (loopback only) every program of this machine may look."""

    host: str
    port: int
    names: frozenset[str]
    """Host names that a request may ask for; any other is a page of somebody else's that points here."""
    token: str | None

    @classmethod
    def decide(cls, host: str, port: int, token: str | None) -> Self:
        """Check the wishes of the command line; anything but loopback needs a token."""
        if token is None and not is_loopback(host):
            raise WebError(
                f"--host {host!r} can be reached from other machines, so a token is needed: add --token "
                f"{NEW_TOKEN} to have one made, or stay on --host 127.0.0.1"
            )
        if token == NEW_TOKEN:
            token = secrets.token_urlsafe(TOKEN_BYTES)
        if token is not None and (len(token) < LEAST_TOKEN_LENGTH or not token.isascii()):
            raise WebError(
                f"a token needs at least {LEAST_TOKEN_LENGTH} ASCII characters, got {len(token)}; "
                f"use --token {NEW_TOKEN} to have one made"
            )
        return cls(host, port, LOOPBACK_NAMES | _names_of(host), token)

    @property
    def cookie_name(self) -> str:
        """Cookies do not know ports; two pages on one machine must not log each other out."""
        return f"keisei_{self.port}"

    @property
    def cookie_value(self) -> str:
        """What a browser shows instead of the token: a stolen cookie jar does not tell the token."""
        return hashlib.sha256((self.token or "").encode()).hexdigest()

    def is_token(self, offered: str) -> bool:
        """Compare in constant time."""
        return self.token is not None and hmac.compare_digest(offered.encode(), self.token.encode())

    def is_cookie(self, offered: str) -> bool:
        """Compare in constant time."""
        return hmac.compare_digest(offered.encode(), self.cookie_value.encode())

    def address(self) -> str:
        """The address to open; it carries the token where there is one."""
        shown = "127.0.0.1" if _is_wildcard(self.host) else self.host
        shown = f"[{shown}]" if ":" in shown else shown
        return f"http://{shown}:{self.port}/" + (f"?token={self.token}" if self.token else "")


def is_loopback(host: str) -> bool:
    """Can only this machine reach a server that listens on ``host``?"""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _is_wildcard(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def _names_of(host: str) -> frozenset[str]:
    if not _is_wildcard(host):
        return frozenset({host.lower()})
    name = socket.gethostname().lower()
    interfaces = psutil.net_if_addrs().values()
    addresses = {entry.address.partition("%")[0].lower() for entries in interfaces for entry in entries}
    return frozenset({name, f"{name}.local", *addresses})
