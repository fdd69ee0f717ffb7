"""Gumbel search against what the network alone allows, in one run.

The bound is the network's own forward rate at the batch of the search: planes that lie ready, no legal moves, no tree.
Search and bare forward passes take turns, step by step, so that whatever else the machine does hits both alike.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from keisei.bench.table import describe_commit, describe_machine
from keisei.config_loader import load_config, parse_override_tokens
from keisei.config_schema import AppConfig
from keisei.core.devices import choose_device
from keisei.core.inference import Inference
from keisei.core.model_factory import model_factory
from keisei.evaluation.gumbel_search import GumbelSearch
from keisei.evaluation.openings import random_openings
from keisei.shogi import RECORD_BYTES, ShogiGame
from keisei.shogi.policy import action_count

#: Plies from the start: positions with captures, drops and checks, as in the middle of a game.
OPENING_PLIES = 40
SEED = 1


@dataclass(frozen=True)
class Sample:
    """One search of all games, in positions a second."""

    search: float
    forward: float

    @property
    def share(self) -> float:
        return self.search / self.forward


def make_inference(config: AppConfig) -> Inference:
    torch.manual_seed(config.training.seed)
    device = choose_device(config.training.device)
    network = model_factory(config.model, action_count(config.env.actions)).eval().to(device)
    return Inference(
        network, device=device, precision=config.training.precision, num_threads=torch.get_num_threads()
    )


@torch.no_grad()
def measure(inference: Inference, games: Sequence[ShogiGame], simulations: int) -> Sample:
    """Searches all games once, with a bare forward pass of the full batch after every step."""
    packed = b"".join(game.pack() for game in games)
    planes = inference.planes(np.frombuffer(packed, np.uint8).reshape(len(games), RECORD_BYTES))
    search = GumbelSearch(inference, games)
    search.add_simulations(simulations)
    judged = passes = 0
    search_seconds = forward_seconds = 0.0
    while True:
        begun = time.perf_counter()
        rows = search.step()
        searched = time.perf_counter()
        if rows == 0:
            return Sample(judged / search_seconds, passes * len(games) / forward_seconds)
        inference.forward(planes, with_auxiliary=False)
        _wait_for(inference.device)
        judged += rows
        passes += 1
        search_seconds += searched - begun
        forward_seconds += time.perf_counter() - searched


def _wait_for(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--config", type=Path, default=None, help="YAML file with the network to measure")
    parser.add_argument("--games", type=int, default=256)
    parser.add_argument("--simulations", type=int, default=64)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--results", type=Path, default=None, help="file to append the figures to")
    options, settings = parser.parse_known_args(arguments)
    config = load_config(options.config, parse_override_tokens(settings)).config
    inference = make_inference(config)
    games = [ShogiGame(sfen) for sfen in random_openings(options.games, SEED, plies=OPENING_PLIES)]
    measure(inference, games, 1)  # warm-up
    samples = []
    for repetition in range(options.repetitions):
        samples.append(measure(inference, games, options.simulations))
        print(f"repetition {repetition + 1}: {samples[-1].share:.0%} of the forward rate")
    print_table(config, options, samples)


def print_table(config: AppConfig, options: argparse.Namespace, samples: Sequence[Sample]) -> None:
    model = config.model
    effort = f"{options.games} games, {options.simulations} simulations"
    shape = f"{model.architecture} {model.blocks}x{model.channels}, {effort}"
    columns = {
        "bare forward, positions/s": [sample.forward for sample in samples],
        "search, positions/s": [sample.search for sample in samples],
        "share of the forward rate, %": [100 * sample.share for sample in samples],
    }
    lines = [
        f"| search: {name} | {shape} | {statistics.median(values):,.0f} ({min(values):,.0f} to {max(values):,.0f}) "
        f"| {describe_machine()} | {describe_commit(Path.cwd())} |"
        for name, values in columns.items()
    ]
    print("\n".join(lines))
    if options.results is not None:
        with options.results.open("a", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
