from pathlib import Path

import pytest
from recorded_runs import HOSTILE, record_run
from starlette.requests import Request

from keisei.web.run_library import RunLibrary
from keisei.web.visit import Visit, look_cookie_script


def request(query: str = "", cookie: str = "") -> Request:
    headers = [(b"cookie", cookie.encode())]
    return Request({"type": "http", "query_string": query.encode(), "headers": headers})


@pytest.fixture
def library(tmp_path: Path) -> RunLibrary:
    record_run(tmp_path, "quiet-lance", updates=1, games=1)
    return RunLibrary(tmp_path)


def test_first_visit_sees_the_run_as_the_browser_likes_it(library: RunLibrary) -> None:
    visit = Visit.of(request(), library)
    assert (visit.run, visit.theme, visit.dark, visit.pieces) == ("quiet-lance", "auto", None, "kanji")


def test_choices_are_kept_in_cookies(library: RunLibrary) -> None:
    visit = Visit.of(request(cookie="keisei_look_theme=dark; keisei_look_pieces=international"), library)
    assert (visit.dark, visit.pieces) == (True, "international")


@pytest.mark.parametrize("value", ["", "../..", HOSTILE, "dark'"])
def test_unknown_choices_are_the_default(library: RunLibrary, value: str) -> None:
    visit = Visit.of(
        request(f"run={value}", f"keisei_look_theme={value}; keisei_look_pieces={value}"), library
    )
    assert (visit.run, visit.theme, visit.pieces) == ("quiet-lance", "auto", "kanji")


def test_links_quote_the_name(library: RunLibrary) -> None:
    visit = Visit.of(request(), library)
    assert visit.link("/games") == "/games?run=quiet-lance"
    assert visit.link("/games", "a b&c\"'/") == "/games?run=a%20b%26c%22%27%2F"


def test_no_run_at_all(tmp_path: Path) -> None:
    visit = Visit.of(request("run=x"), RunLibrary(tmp_path))
    assert visit.run is None
    assert visit.link("/games") == "/games"
    with pytest.raises(LookupError):
        visit.feed()


def test_only_known_values_become_a_script() -> None:
    assert "keisei_look_theme=dark" in look_cookie_script("theme", "dark")
    with pytest.raises(ValueError, match="theme must be one of"):
        look_cookie_script("theme", "';alert(1)//")
