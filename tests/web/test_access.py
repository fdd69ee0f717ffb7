import pytest

from keisei.errors import WebError
from keisei.web.access import LEAST_TOKEN_LENGTH, Access, is_loopback


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost", "LocalHost"])
def test_loopback_needs_no_token(host: str) -> None:
    assert is_loopback(host)
    assert Access.decide(host, 8080, None).token is None


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "192.168.1.7", "shogi.example", "localhost.evil.example", ""]
)
def test_other_addresses_refuse_to_start_without_a_token(host: str) -> None:
    with pytest.raises(WebError, match="--token auto"):
        Access.decide(host, 8080, None)


def test_made_up_tokens_are_long_and_differ() -> None:
    tokens = {Access.decide("0.0.0.0", 8080, "auto").token for _ in range(20)}
    assert len(tokens) == 20
    assert all(token and len(token) >= LEAST_TOKEN_LENGTH for token in tokens)


@pytest.mark.parametrize("token", ["", "short", "ключ-ключ-ключ-ключ"])
def test_weak_tokens_are_refused(token: str) -> None:
    with pytest.raises(WebError, match="at least 16 ASCII characters"):
        Access.decide("127.0.0.1", 8080, token)


def test_address_carries_the_token_once_and_the_cookie_never() -> None:
    access = Access.decide("0.0.0.0", 8080, "0123456789abcdef")
    assert access.address() == "http://127.0.0.1:8080/?token=0123456789abcdef"
    assert "0123456789abcdef" not in access.cookie_value
    assert access.is_token("0123456789abcdef")
    assert not access.is_token("0123456789abcdeg")
    assert access.is_cookie(access.cookie_value)
    assert not access.is_cookie("0123456789abcdef")


def test_without_a_token_no_token_fits() -> None:
    assert not Access.decide("127.0.0.1", 8080, None).is_token("")


def test_ipv6_address_is_written_with_brackets() -> None:
    assert Access.decide("::1", 8080, None).address() == "http://[::1]:8080/"


def test_wildcard_answers_to_the_addresses_of_this_machine() -> None:
    assert "127.0.0.1" in Access.decide("0.0.0.0", 8080, "auto").names
    assert "evil.example" not in Access.decide("0.0.0.0", 8080, "auto").names
