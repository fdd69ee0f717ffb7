"""What one browser asked for: the run, and how it likes the page to look (kept in cookies)."""

from dataclasses import dataclass
from typing import Final, Literal, Self, get_args
from urllib.parse import quote

from starlette.requests import Request

from keisei.shogi.board_svg import Theme
from keisei.shogi.piece_svg import SvgStyle
from keisei.web.run_feed import RunFeed
from keisei.web.run_library import RunLibrary

Look = Literal["theme", "pieces"]
LOOKS: Final[dict[Look, tuple[str, ...]]] = {"theme": get_args(Theme), "pieces": get_args(SvgStyle)}
DEFAULT_THEME: Final[Theme] = "auto"
COOKIE_PREFIX: Final = "keisei_look_"


@dataclass(frozen=True)
class Visit:
    """One page as one browser sees it; ``run`` is None while there is no run at all."""

    library: RunLibrary
    run: str | None
    theme: Theme
    pieces: SvgStyle

    @classmethod
    def of(cls, request: Request, library: RunLibrary) -> Self:
        """Read a request; what is unknown in it falls back to the default."""
        names = library.names()
        asked = request.query_params.get("run")
        run = asked if asked in names else (names[0] if names else None)
        theme = next((known for known in get_args(Theme) if known == _look(request, "theme")), DEFAULT_THEME)
        pieces: SvgStyle = "international" if _look(request, "pieces") == "international" else "kanji"
        return cls(library, run, theme, pieces)

    @property
    def dark(self) -> bool | None:
        """None follows the browser."""
        return {"auto": None, "light": False, "dark": True}[self.theme]

    def feed(self) -> RunFeed:
        """The run's feed, up to date."""
        if self.run is None:
            raise LookupError("there is no run yet; ask `run` first")
        return self.library.feed(self.run)

    def link(self, path: str, run: str | None = None) -> str:
        """The address of another panel, for this run or another."""
        name = run or self.run
        return path if name is None else f"{path}?run={quote(name, safe='')}"


def _look(request: Request, look: Look) -> str:
    return request.cookies.get(COOKIE_PREFIX + look, "")


def look_cookie_script(look: Look, value: str) -> str:
    """JavaScript that keeps a choice and shows it; only known values get in."""
    if value not in LOOKS[look]:
        raise ValueError(f"{look} must be one of {LOOKS[look]}, got {value!r}")
    cookie = f"{COOKIE_PREFIX}{look}={value};path=/;max-age=31536000;SameSite=Strict"
    return f"document.cookie = '{cookie}'; location.reload()"
