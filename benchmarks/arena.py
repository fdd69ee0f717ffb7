"""The arena: how much of a match is inference, and what playing many games at once is worth.

Two small networks with weights of their own play paired games by their policies, once many at once and once one after
another; both rates come from the same run. Inference is everything from packed records to log-probabilities (planes,
masks, forward pass); the rest is the games themselves.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from figures import Figures
from numpy.typing import NDArray

from keisei.config_schema import ModelConfig
from keisei.core.devices import choose_device
from keisei.core.inference import Evaluation, Inference
from keisei.core.model_factory import model_factory
from keisei.evaluation.arena import MatchResult, play_match
from keisei.evaluation.openings import random_openings
from keisei.evaluation.players import PolicyPlayer
from keisei.shogi.positions import LegalActions

ACTIONS = 2187
SEED = 1


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


def make_inference(options: argparse.Namespace, seed: int) -> TimedInference:
    torch.manual_seed(seed)
    model = ModelConfig(architecture="resnet", blocks=options.blocks, channels=options.channels)
    device = choose_device(options.device)
    network = model_factory(model, ACTIONS).eval().requires_grad_(False).to(device)
    return TimedInference(network, device=device, precision="fp32", num_threads=torch.get_num_threads())


def measure(options: argparse.Namespace, pairs: int, games_at_once: int) -> tuple[MatchResult, float, float]:
    """The match, its seconds and those of inference. Moves are drawn, so that no two games are alike."""
    networks = [make_inference(options, seed) for seed in (SEED, SEED + 1)]
    players = [PolicyPlayer(str(i), network, temperature=1.0, seed=i) for i, network in enumerate(networks)]
    openings = random_openings(pairs, SEED)
    begun = time.perf_counter()
    match = play_match(*players, openings, max_plies=options.max_plies, games_at_once=games_at_once)
    return match, time.perf_counter() - begun, sum(network.seconds for network in networks)


def plies(match: MatchResult) -> int:
    return sum(len(game.game.moves) for game in match.games)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--games", type=int, default=1000)
    parser.add_argument("--games-at-once", type=int, default=256)
    parser.add_argument(
        "--single-games", type=int, default=8, help="how many games are played one after another"
    )
    parser.add_argument("--max-plies", type=int, default=200)
    parser.add_argument("--blocks", type=int, default=4)
    parser.add_argument("--channels", type=int, default=64)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--results", type=Path, default=None, help="file to append the figures to")
    options = parser.parse_args(arguments)
    subject = (
        f"resnet {options.blocks}x{options.channels}, {options.games} games, {options.games_at_once} at once"
    )
    measure(options, 1, 2)  # warm-up
    figures = Figures()
    single, single_seconds, _ = measure(options, options.single_games // 2, 1)
    match, seconds, inference_seconds = measure(options, options.games // 2, options.games_at_once)
    figures.note("arena: share of the time in inference", subject, "%", 100 * inference_seconds / seconds)
    figures.note("arena: games", subject, "games/s", options.games / seconds)
    figures.note("arena: plies", subject, "plies/s", plies(match) / seconds)
    figures.note("arena: games one after another", subject, "games/s", options.single_games / single_seconds)
    # By plies, since the few single games need not be as long as the others.
    gain = plies(match) / seconds / (plies(single) / single_seconds)
    figures.note("arena: gain over one after another", subject, "×", gain)
    figures.finish(options.results)


if __name__ == "__main__":
    main()
