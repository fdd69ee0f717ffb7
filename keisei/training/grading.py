"""Measuring the network of a run against opponents that never change: its scores, and its place on their scale."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

from keisei.config_schema import AppConfig
from keisei.core.inference import Inference
from keisei.core.networks import ActorCritic
from keisei.errors import RegistryError
from keisei.evaluation.anchor_scale import AnchorScale
from keisei.evaluation.arena import play_match
from keisei.evaluation.openings import OPENING_PLIES, random_openings
from keisei.evaluation.players import PolicyPlayer, fixed_player
from keisei.evaluation.ratings import Rating
from keisei.evaluation.registry import Conditions, Registry
from keisei.evaluation.scores import Score

#: Opponent, score so far, games in all.
Progress = Callable[[str, Score, int], None]


@dataclass(frozen=True)
class Grade:
    """How a network did: its score against each opponent, and its rating.

    The rating is None where the measurement was stopped, or where ``problem`` says why there can be none.
    """

    scores: Mapping[str, Score]
    rating: Rating | None = None
    problem: str = ""


def grade(
    config: AppConfig,
    network: ActorCritic,
    device: torch.device,
    *,
    name: str,
    registry: Path,
    on_game: Progress | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Grade:
    """The raw policy's score against each configured opponent; a match that was stopped is left out.

    ``name`` is the network's in its rating, ``registry`` the file that keeps what the opponents play among each other.
    """
    settings = config.evaluation
    inference = Inference(network, device=device, precision="fp32", num_threads=torch.get_num_threads())
    openings = random_openings(settings.games // 2, settings.seed)
    scores: dict[str, Score] = {}
    pair_counts: dict[str, list[int]] = {}
    for opponent in settings.opponents:
        if should_stop():
            break
        match = play_match(
            PolicyPlayer(name, inference),
            fixed_player(opponent, settings.seed),
            openings,
            max_plies=config.env.max_plies,
            on_game=None if on_game is None else partial(on_game, opponent),
            should_stop=should_stop,
        )
        if not match.stopped:
            scores[opponent] = match.score
            pair_counts[opponent] = match.pair_counts
    if len(scores) < len(settings.opponents) or not scores:
        return Grade(scores)
    try:
        book = Registry(registry, Conditions(config.env.max_plies, OPENING_PLIES))
        scale = AnchorScale(settings.opponents, book, games=settings.games, seed=settings.seed)
        scale.settle(should_stop)
    except RegistryError as error:  # the scores are measured all the same
        return Grade(scores, problem=f"no rating: {error}")
    return Grade(scores, scale.place(name, pair_counts))
