"""Measuring the network of a run against opponents that never change."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch

from keisei.config_schema import AppConfig
from keisei.core.inference import Inference
from keisei.core.networks import ActorCritic
from keisei.evaluation.arena import play_match
from keisei.evaluation.openings import random_openings
from keisei.evaluation.players import PolicyPlayer, fixed_player
from keisei.evaluation.scores import Score

Progress = Callable[[str, int, int], None]


def grade(
    config: AppConfig,
    network: ActorCritic,
    device: torch.device,
    *,
    on_game: Progress | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> dict[str, Score]:
    """The raw policy's score against each configured opponent; a match that was stopped is left out."""
    settings = config.evaluation
    inference = Inference(network, device=device, precision="fp32", num_threads=torch.get_num_threads())
    openings = random_openings(settings.games // 2, settings.seed)
    scores: dict[str, Score] = {}
    for name in settings.opponents:
        if should_stop():
            break
        match = play_match(
            PolicyPlayer("keisei", inference),
            fixed_player(name, settings.seed),
            openings,
            max_plies=config.env.max_plies,
            on_game=None if on_game is None else partial(on_game, name),
            should_stop=should_stop,
        )
        if not match.stopped:
            scores[name] = match.score
    return scores
