"""How strong a network is that is about to be given away: its scores against fixed opponents, for its model card."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from keisei.commands.match_report import FEWEST_PAIRS
from keisei.shogi.types import DEFAULT_MAX_PLIES

if TYPE_CHECKING:
    from keisei.core.networks import ActorCritic
    from keisei.evaluation.arena import MatchResult
    from keisei.evaluation.scores import Score

POLICY: Final = "policy"
SEARCH: Final = "search"
_SEED: Final = 1


@dataclass(frozen=True)
class NetworkScore:
    """A match of the network, played by its policy or by search; ``elo`` is empty where pairs are too few."""

    player: str
    opponent: str
    score: Score
    elo: str

    @property
    def as_json(self) -> dict[str, Any]:
        counts = {"wins": self.score.wins, "draws": self.score.draws, "losses": self.score.losses}
        return {"player": self.player, "opponent": self.opponent, **counts}


def play_scores(
    network: ActorCritic,
    opponents: Sequence[str],
    games: int,
    device: str,
    max_plies: int = DEFAULT_MAX_PLIES,
) -> list[NetworkScore]:
    """The policy against each opponent, then search against the policy; paired games from the same openings."""
    import torch

    from keisei.commands.match_progress import TournamentProgress
    from keisei.core.devices import choose_device
    from keisei.core.inference import Inference
    from keisei.evaluation.gumbel_search import SearchPlayer
    from keisei.evaluation.openings import random_openings
    from keisei.evaluation.player_specs import opened_players
    from keisei.evaluation.players import PolicyPlayer
    from keisei.evaluation.tournament import Tournament, gauntlet

    where = choose_device(device)
    on_device = copy.deepcopy(network).to(where)
    inference = Inference(on_device, device=where, precision="fp32", num_threads=torch.get_num_threads())
    policy, search = PolicyPlayer(POLICY, inference), SearchPlayer(SEARCH, inference)
    openings = random_openings(games // 2, _SEED)
    with opened_players(*opponents, seed=_SEED, device=device) as opened:
        rungs = [entry.player for entry in opened]
        pairings = [*gauntlet([POLICY, *(rung.name for rung in rungs)]), (SEARCH, POLICY)]
        contest = Tournament([policy, *rungs, search], pairings, openings, max_plies=max_plies)
        with TournamentProgress(len(pairings) * games) as progress:
            contest.play(on_games=progress.on_games)
    return [_score(match) for match in contest.matches.values()]


def _score(match: MatchResult) -> NetworkScore:
    from keisei.evaluation.ratings import elo_difference

    is_enough = sum(match.pair_counts) >= FEWEST_PAIRS
    elo = str(elo_difference(match.pair_counts)) if is_enough else ""
    return NetworkScore(match.first, match.second, match.score, elo)
