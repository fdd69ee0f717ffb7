from recorded_runs import HOSTILE

from keisei.record.journal_reader import Entry
from keisei.record.journal_schema import Game
from keisei.shogi.types import STANDARD_SFEN
from keisei.web.opening_tree import Continuation, continuations


def games(*lines: tuple[str, str | None], start: str = STANDARD_SFEN) -> list[Entry[Game]]:
    return [
        Entry(row, row, 0.0, Game("a", "b", start, tuple(moves.split()), winner, "checkmate"))
        for row, (moves, winner) in enumerate(lines)
    ]


KEPT = games(("2g2f 8c8d", "black"), ("7g7f 3c3d", "white"), ("7g7f 8c8d", None), ("7g7f 3c3d 2g2f", "black"))


def test_moves_are_counted_scored_and_compared() -> None:
    assert continuations(KEPT, ()) == [
        Continuation("7g7f", 3, 0.75, 0.5, 0.5, 1.0),
        Continuation("2g2f", 1, 0.25, 1.0, 0.5, 0.0),
    ]


def test_tree_is_followed() -> None:
    assert [(move.usi, move.games) for move in continuations(KEPT, ("7g7f",))] == [("3c3d", 2), ("8c8d", 1)]
    assert [move.usi for move in continuations(KEPT, ("7g7f", "3c3d"))] == ["2g2f"]
    assert continuations(KEPT, ("7g7f", "8c8d")) == []


def test_damaged_and_other_starts_do_not_count() -> None:
    assert continuations(games((HOSTILE, None)), ()) == []
    assert continuations(games(("7g7f", None), start="elsewhere"), ()) == []
    assert continuations([], ()) == []
