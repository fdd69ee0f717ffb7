"""Which of a run's networks is the strongest, from the ratings in its journal."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from keisei.record.journal_reader import Entry
    from keisei.record.journal_schema import PlayerRating

#: Raw policies only: search and temperatures make another player of the same network.
POLICY_PREFIX = "policy:"
OPTIONS_MARK = "?"


class RatedUpdate(NamedTuple):
    """The network as it was after an update, and its rating."""

    update: int
    rating: PlayerRating

    def __str__(self) -> str:
        rating = self.rating
        if math.isnan(rating.elo):
            return f"unknown rating after update {self.update}"
        if math.isinf(rating.elo):
            bound = f"above {rating.low:+.0f}" if rating.elo > 0 else f"below {rating.high:+.0f}"
            return f"{bound} Elo after update {self.update}"
        return f"{rating.elo:+.0f} Elo [{rating.low:+.0f}, {rating.high:+.0f}] after update {self.update}"


def is_raw_policy(player: str) -> bool:
    """Is this the name of a network's policy, without search and at its own temperature?"""
    return player.startswith(POLICY_PREFIX) and OPTIONS_MARK not in player


def rated_updates(entries: Iterable[Entry[PlayerRating]]) -> list[RatedUpdate]:
    """The networks of a run that have a rating, oldest first; of several ratings the newest counts."""
    newest = {entry.update: entry.content for entry in entries if is_raw_policy(entry.content.player)}
    return [RatedUpdate(update, newest[update]) for update in sorted(newest)]


def strongest(rated: Iterable[RatedUpdate]) -> RatedUpdate | None:
    """The one with the highest lower bound, the earliest of equals; None where no result bounds any from below."""
    bounded = [each for each in rated if math.isfinite(each.rating.low)]
    return max(bounded, key=lambda each: (each.rating.low, -each.update), default=None)
