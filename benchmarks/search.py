"""The searches: Gumbel search against what the network alone allows, and the fixed opponent ab3 by the clock.

The bound of the Gumbel search is the network's own forward rate at the batch of the search: planes that lie ready, no
legal moves, no tree. Search and bare forward passes take turns, step by step, so that whatever else the machine does
hits both alike. The alpha-beta search has one thread.
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

from keisei.config_loader import load_config, parse_override_tokens
from keisei.config_schema import AppConfig
from keisei.core.devices import choose_device
from keisei.core.inference import Inference
from keisei.core.model_factory import model_factory
from keisei.evaluation.gumbel_search import GumbelSearch
from keisei.evaluation.openings import random_openings
from keisei.shogi import RECORD_BYTES, ShogiGame
from keisei.shogi.policy import action_count
from keisei.shogi.search import search_games

#: Plies from the start: positions with captures, drops and checks, as in the middle of a game.
OPENING_PLIES = 40
SEED = 1
ALPHA_BETA_DEPTH = 3
SELF_PLAY_GAMES = 32
SELF_PLAY_PLIES = 160
PLIES_BETWEEN = 8
MILLISECONDS = 1000


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


def positions_of_games() -> list[ShogiGame]:
    """What a fixed opponent meets: positions from beginning to end of games that ab1 plays against itself."""
    games = [ShogiGame(sfen) for sfen in random_openings(SELF_PLAY_GAMES, SEED)]
    met = []
    for ply in range(SELF_PLAY_PLIES):
        games = [game for game in games if game.outcome is None]
        if ply % PLIES_BETWEEN == 0:
            met += [game.copy() for game in games]
        for game, found in zip(games, search_games(games, 1, seed=SEED), strict=True):
            game.play(found.move)
    return met


def measure_alpha_beta(games: Sequence[ShogiGame], figures: Figures) -> None:
    """Moves one game at a time, as a match with one game does."""
    subject = f"ab{ALPHA_BETA_DEPTH}, one thread, {len(games)} positions"
    nodes, seconds = 0, []
    for game in games:
        begun = time.perf_counter()
        (found,) = search_games([game], ALPHA_BETA_DEPTH, seed=SEED, num_threads=1)
        seconds.append(time.perf_counter() - begun)
        nodes += found.nodes
    figures.note("search: alpha-beta", subject, "nodes/s", nodes / sum(seconds))
    figures.note("search: alpha-beta, a move", subject, "ms", MILLISECONDS * sum(seconds) / len(seconds))
    figures.note("search: alpha-beta, slowest move", subject, "ms", MILLISECONDS * max(seconds))


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
    effort = f"{options.games} games, {options.simulations} simulations"
    subject = f"{config.model.architecture} {config.model.blocks}x{config.model.channels}, {effort}"
    met = positions_of_games()
    figures = Figures()
    measure(inference, games, 1)  # warm-up
    for _ in range(options.repetitions):
        sample = measure(inference, games, options.simulations)
        figures.note("search: bare forward", subject, "positions/s", sample.forward)
        figures.note("search: Gumbel", subject, "positions/s", sample.search)
        figures.note("search: Gumbel, share of the forward rate", subject, "%", 100 * sample.share)
        measure_alpha_beta(met, figures)
    figures.finish(options.results)


if __name__ == "__main__":
    main()
