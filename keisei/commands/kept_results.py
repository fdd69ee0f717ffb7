"""What matches leave in the journal of the run that a network comes from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from keisei.evaluation.player_specs import OpenedPlayer
    from keisei.evaluation.ratings import Rating
    from keisei.evaluation.scores import Score


def keep_ratings(climbers: Sequence[OpenedPlayer], ratings: Sequence[Rating]) -> None:
    """Each network's place on the ladder; players without a run are left out."""
    from keisei.record.journal import Journal, PlayerRating

    by_name = {rating.name: rating for rating in ratings}
    for player, network in climbers:
        rating = by_name.get(player.name)
        if network is None or network.run is None or rating is None:
            continue
        with Journal(network.run.journal_path) as journal:
            row = PlayerRating(player.name, rating.elo, rating.low, rating.high, rating.games)
            journal.add_rating(network.manifest.update, row)


def keep_exam(entry: OpenedPlayer, plies: int, score: Score) -> None:
    """How a network did in the problems of one length, by its policy alone: search would be another player."""
    from keisei.record.journal import Journal
    from keisei.record.journal_schema import Exam
    from keisei.record.strength import is_raw_policy

    network = entry.network
    if network is not None and network.run is not None and is_raw_policy(entry.player.name):
        with Journal(network.run.journal_path) as journal:
            journal.add_exam(network.manifest.update, Exam(plies, score.games, score.wins))
