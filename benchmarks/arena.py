"""The arena: how much of a match is inference, and what playing many games at once is worth.

Two networks with weights of their own play paired games by their policies, once many at once and once one after
another; both rates come from the same run. Inference is everything from packed records to log-probabilities (planes,
masks, forward pass); the rest is the games themselves.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from figures import Figures
from numpy.typing import NDArray

from keisei.config_loader import load_config, parse_override_tokens
from keisei.config_schema import AppConfig
from keisei.core.devices import choose_device
from keisei.core.inference import Evaluation, Inference
from keisei.core.model_factory import model_factory
from keisei.evaluation.arena import MAX_GAMES_AT_ONCE, play_match
from keisei.evaluation.openings import random_openings
from keisei.evaluation.players import PolicyPlayer
from keisei.shogi.policy import action_count
from keisei.shogi.positions import LegalActions

SEED = 1
#: Networks that have learnt nothing do not mate each other; a cap keeps the games as long as real ones.
MAX_PLIES = 200


class TimedInference(Inference):
    """An inference that counts the seconds spent in it."""

    seconds = 0.0

    def evaluate(self, records: NDArray[np.uint8], lists: LegalActions | None = None) -> Evaluation:
        begun = time.perf_counter()
        evaluation = super().evaluate(records, lists)
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        self.seconds += time.perf_counter() - begun
        return evaluation


@dataclass(frozen=True)
class Sample:
    """One match."""

    games: int
    plies: int
    seconds: float
    inference_seconds: float

    @property
    def inference_share(self) -> float:
        return self.inference_seconds / self.seconds

    @property
    def games_rate(self) -> float:
        return self.games / self.seconds

    @property
    def plies_rate(self) -> float:
        """Comparable between matches whose games differ in length."""
        return self.plies / self.seconds


def make_inference(config: AppConfig, seed: int) -> TimedInference:
    torch.manual_seed(seed)
    device = choose_device(config.training.device)
    network = model_factory(config.model, action_count(config.env.actions)).eval().requires_grad_(False)
    return TimedInference(
        network.to(device), device=device, precision="fp32", num_threads=torch.get_num_threads()
    )


def measure(config: AppConfig, games: int, games_at_once: int) -> Sample:
    """One match. Moves are drawn, so that no two games are alike."""
    networks = [make_inference(config, seed) for seed in (SEED, SEED + 1)]
    players = [PolicyPlayer(str(i), network, temperature=1.0, seed=i) for i, network in enumerate(networks)]
    openings = random_openings(games // 2, SEED)
    begun = time.perf_counter()
    match = play_match(*players, openings, max_plies=MAX_PLIES, games_at_once=games_at_once)
    seconds = time.perf_counter() - begun
    plies = sum(len(game.game.moves) for game in match.games)
    return Sample(games, plies, seconds, sum(network.seconds for network in networks))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--config", type=Path, default=None, help="YAML file with the network to measure")
    parser.add_argument("--games", type=int, default=1000)
    parser.add_argument("--games-at-once", type=int, default=MAX_GAMES_AT_ONCE)
    parser.add_argument("--single-games", type=int, default=6, help="how many are played one after another")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--results", type=Path, default=None, help="file to append the figures to")
    options, settings = parser.parse_known_args(arguments)
    config = load_config(options.config, parse_override_tokens(settings)).config
    model = config.model
    shape = f"{model.architecture} {model.blocks}x{model.channels}"
    subject = f"{shape}, {options.games} games, {options.games_at_once} at once"
    measure(config, 2, 2)  # warm-up
    figures = Figures()
    for _ in range(options.repetitions):
        single = measure(config, options.single_games, 1)
        match = measure(config, options.games, options.games_at_once)
        figures.note("arena: share of the time in inference", subject, "%", 100 * match.inference_share)
        figures.note("arena: games", subject, "games/s", match.games_rate)
        figures.note("arena: plies", subject, "plies/s", match.plies_rate)
        figures.note("arena: games one after another", shape, "games/s", single.games_rate)
        figures.note(
            "arena: gain over one after another, by plies",
            subject,
            "×",
            match.plies_rate / single.plies_rate,
        )
    figures.finish(options.results)


if __name__ == "__main__":
    main()
