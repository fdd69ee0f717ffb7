"""The list of kept games as a visitor leafs through it: filtered, counted, sorted, a page at a time."""

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from keisei.record.journal_reader import Entry
from keisei.record.journal_schema import Game
from keisei.web.kept_games import GameFilter

ROWS_OF_A_PAGE: Final = 10
MAX_ROWS_OF_A_PAGE: Final = 300
_KEYS: Final[Mapping[str, Callable[[Entry[Game]], Any]]] = {
    "game": lambda entry: entry.row,
    "update": lambda entry: entry.update,
    "plies": lambda entry: len(entry.content.moves),
    "winner": lambda entry: winner_words(entry.content),
    "reason": lambda entry: entry.content.reason,
}


def winner_words(game: Game) -> str:
    """black, white or draw."""
    return game.winner or "draw"


def reason_words(game: Game) -> str:
    """How the game ended."""
    return game.reason.replace("_", " ")


@dataclass(frozen=True)
class Leaf:
    """Which page of a list is wanted, and in which order; newest first where no column is named."""

    page: int = 1
    rows: int = ROWS_OF_A_PAGE
    sort_by: str | None = None
    descending: bool = False

    @classmethod
    def of(cls, wish: Any) -> "Leaf":
        """What a browser asks for; 0 rows are as many as there may be, and what it cannot ask for is the default."""
        if not isinstance(wish, dict):
            return cls()
        page, rows, sort_by = wish.get("page"), wish.get("rowsPerPage"), wish.get("sortBy")
        return cls(
            page if isinstance(page, int) and page > 0 else 1,
            rows if isinstance(rows, int) and 0 < rows <= MAX_ROWS_OF_A_PAGE else MAX_ROWS_OF_A_PAGE,
            sort_by if isinstance(sort_by, str) and sort_by in _KEYS else None,
            wish.get("descending") is True,
        )

    def as_quasar(self, count: int) -> dict[str, Any]:
        """For the table in the browser, which has ``count`` rows in all."""
        return {
            "page": self.page,
            "rowsPerPage": self.rows,
            "sortBy": self.sort_by,
            "descending": self.descending,
            "rowsNumber": count,
        }


class GameList:
    """The games that pass a filter. A new game costs what one game costs, however many there are."""

    def __init__(self, wanted: GameFilter) -> None:
        self._wanted = wanted
        self._games: Sequence[Entry[Game]] = ()
        self._begin()

    def _begin(self) -> None:
        self._seen = -1
        self._found: deque[Entry[Game]] = deque()
        self._results: Counter[str] = Counter()
        self._reasons: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._found)

    def look(self, games: Sequence[Entry[Game]]) -> None:
        """Take in the kept games: the list of the last look, grown and cut, or another where the run began anew."""
        if games is not self._games:
            self._games = games
            self._begin()
        if not games:
            return
        while self._found and self._found[0].row < games[0].row:
            self._count(self._found.popleft(), -1)
        known = next((i for i in range(len(games), 0, -1) if games[i - 1].row <= self._seen), 0)
        for entry in self._wanted.select(games[known:]):
            self._found.append(entry)
            self._count(entry, 1)
        self._seen = games[-1].row

    def _count(self, entry: Entry[Game], difference: int) -> None:
        self._results[winner_words(entry.content)] += difference
        self._reasons[reason_words(entry.content)] += difference

    def leaf(self, wanted: Leaf) -> list[Entry[Game]]:
        """The games of one page."""
        if wanted.sort_by is None:
            ordered = reversed(self._found)
        else:
            ordered = iter(sorted(self._found, key=_KEYS[wanted.sort_by], reverse=wanted.descending))
        begin = (wanted.page - 1) * wanted.rows
        return list(islice(ordered, begin, begin + wanted.rows))

    def summary(self) -> str:
        """How many there are, who won them, and how they ended."""
        if not self._found:
            return "No kept game passes this filter."
        parts = (_counts(counter) for counter in (self._results, self._reasons))
        return " · ".join([f"{len(self._found):,} games", *parts])


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counter.most_common() if count)
