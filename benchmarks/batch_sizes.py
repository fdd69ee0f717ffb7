"""How the size of a batch pays: plies by games side by side, rows learned by minibatch size, on one thread.

Rates are per second of computing time, not of the clock, so that a busy machine disturbs them little. Any setting can
be given as --section.key value; without any it is the default configuration.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import torch
from figures import Figures

from keisei.config_loader import load_config, overridden, parse_override_tokens
from keisei.config_schema import AppConfig
from keisei.core.experience_buffer import ExperienceBuffer
from keisei.core.ppo_agent import PPOAgent
from keisei.core.rollout import Rollout
from keisei.core.rollout_rows import RolloutRows
from keisei.training.environments import make_env, play_settings

GAMES = (4, 8, 16, 32, 64, 128, 256)
MINIBATCHES = (64, 128, 256, 512, 1024)
PLIES_PER_GAME = 8
ROWS_LEARNED = 2048


def play_rate(config: AppConfig, agent: PPOAgent, games: int) -> float:
    """Plies per second of computing time of a worker with so many games."""
    env = make_env(config, num_games=games, seed=1, num_threads=1)
    rollout = Rollout(env, play_settings(config), seed=1)
    rows = RolloutRows.allocate(PLIES_PER_GAME, games)
    rollout.play(rows, agent.inference, version=1)
    began, plies = time.process_time(), 0
    while (seconds := time.process_time() - began) < 1.0:
        plies += rollout.play(rows, agent.inference, version=1).plies
    return plies / seconds


def learn_rate(config: AppConfig, size: int) -> float:
    """Rows per second of computing time of one epoch with minibatches of this size."""
    changes = {"training.minibatch_size": size, "training.epochs": 1, "training.target_kl": 0.0}
    chosen = overridden(config, changes, "in the benchmark")
    agent = PPOAgent(chosen, torch.device("cpu"))
    games = ROWS_LEARNED // PLIES_PER_GAME
    rollout = Rollout(make_env(chosen, num_games=games, seed=1, num_threads=1), play_settings(chosen), seed=1)
    rows = RolloutRows.allocate(PLIES_PER_GAME, games)
    rollout.play(rows, agent.inference, version=1)
    buffer = ExperienceBuffer(ROWS_LEARNED)
    buffer.add_batch(rows)
    buffer.compute_targets(gamma=chosen.training.gamma, lam=chosen.training.gae_lambda)
    agent.learn(buffer, 0.0)
    began = time.process_time()
    steps = agent.learn(buffer, 0.0)["gradient_steps"]
    return steps * size / (time.process_time() - began)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--results", type=Path, default=None, help="file to append the figures to")
    options, settings = parser.parse_known_args(arguments)
    torch.set_num_threads(1)
    config = load_config(None, {"training.device": "cpu", **parse_override_tokens(settings)}).config
    agent = PPOAgent(config, torch.device("cpu"))
    model, figures = config.model, Figures()
    network = f"{model.architecture} {model.blocks}x{model.channels}"
    for _ in range(options.repetitions):
        for games in GAMES:
            rate = play_rate(config, agent, games)
            figures.note(f"batch: play, {games} games side by side", network, "plies/CPU s", rate)
        for size in MINIBATCHES:
            figures.note(
                f"batch: learn, minibatches of {size}", network, "rows/CPU s", learn_rate(config, size)
            )
    figures.finish(options.results)


if __name__ == "__main__":
    main()
