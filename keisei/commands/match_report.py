"""What matches, tournaments and ladders came to, as lines and tables for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Column, Table

from keisei.shogi import Color

if TYPE_CHECKING:
    from keisei.evaluation.arena import MatchResult
    from keisei.evaluation.ratings import Rating
    from keisei.evaluation.scores import Score
    from keisei.evaluation.sprt import Sprt
    from keisei.evaluation.tournament import Tournament

#: Reports of engines that lost a game against the rules of the match; more of the same say nothing new.
NOTES_SHOWN = 3
#: With fewer, the spread of the results is not known, and intervals reach over thousands of Elo.
FEWEST_PAIRS = 3


def match_lines(result: MatchResult, sprt: Sprt | None) -> list[str]:
    """Score by colour, ends by reason, Elo with its interval, and what the test decided."""
    from keisei.evaluation.ratings import elo_difference

    if not result.games:
        return [f"{result.first} against {result.second}: no game was finished"]
    lines = [
        f"{result.first} against {result.second}: {result.score}",
        *(f"  as {color.name.lower()}: {result.score_as(color)}" for color in Color),
        "  ended by " + ", ".join(f"{reason} {count}" for reason, count in _most_frequent(result.reasons)),
    ]
    pairs = sum(result.pair_counts)
    if pairs >= FEWEST_PAIRS:
        lines.append(f"Elo difference {elo_difference(result.pair_counts)} (95 %, from {pairs} pairs)")
    else:
        lines.append(f"Too few pairs of games for an Elo difference: {pairs} of at least {FEWEST_PAIRS}")
    if sprt is not None:
        lines.append(_test_line(result, sprt))
    if result.stopped and sprt is None:
        lines.append("The match was broken off: quick games are overrepresented.")
    notes = [game.note for game in result.games if game.note]
    lines += [f"  {note}" for note in notes[:NOTES_SHOWN]]
    if len(notes) > NOTES_SHOWN:
        lines.append(f"  … and {len(notes) - NOTES_SHOWN} more such games")
    return lines


def _test_line(result: MatchResult, sprt: Sprt) -> str:
    counts = result.ordered_pair_counts
    return (
        f"Sequential test of {sprt.elo1:+g} against {sprt.elo0:+g} Elo: {sprt.verdict(counts).value} "
        f"after {sum(counts)} pairs (ratio {float(sprt.ratio(counts)):+.2f}, decided at ±{sprt.limit:.2f})"
    )


def cross_table(tournament: Tournament, ratings: Sequence[Rating]) -> Table:
    """Everybody's score against everybody, best first, with joint ratings."""
    names = tournament.standings()
    elo = {rating.name: str(rating) for rating in ratings}
    table = Table("", "player", "points", Column("Elo [95 %]", no_wrap=True), title="won/drawn/lost")
    for place in range(1, len(names) + 1):
        table.add_column(str(place), no_wrap=True)
    for place, name in enumerate(names, start=1):
        total = tournament.score(name)
        points = f"{total.wins + total.draws / 2:g}/{total.games}"
        cells = (_cell(tournament.score(name, other)) for other in names)
        table.add_row(str(place), name, points, elo.get(name, ""), *cells)
    return table


def rating_table(ratings: Sequence[Rating], contenders: Sequence[str]) -> Table:
    """The ladder, strongest first; contenders stand out."""
    table = Table("player", "Elo", "95 %", "games")
    for rating in ratings:
        estimate, _, interval = str(rating).partition(" [")
        style = "bold" if rating.name in contenders else None
        table.add_row(
            rating.name, estimate, f"[{interval}" if interval else "", f"{rating.games:,}", style=style
        )
    return table


def _cell(score: Score) -> str:
    return f"{score.wins}/{score.draws}/{score.losses}" if score.games else ""


def _most_frequent(counts: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: -item[1])
