"""Plies a second with worker processes, beside one in-process run with all threads, in the same run.

Collection: rows from the newest weights, without learning. End to end: a real training run, its first update left out.
With --games-per-worker every worker plays so many games however many workers there are, and an update grows with them:
this shows what a worker more brings. Without it they share env.num_games, and smaller batches cost each of them speed.
Any setting can be given as --section.key value; without any it is the default configuration.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from figures import Figures
from training import end_to_end

from keisei.config_loader import load_config, overridden, parse_override_tokens
from keisei.config_schema import AppConfig
from keisei.core.devices import choose_device
from keisei.core.experience_buffer import ExperienceBuffer
from keisei.core.ppo_agent import PPOAgent
from keisei.evaluation.opponent_pool import OpponentPool
from keisei.training.collectors import make_collector

IN_PROCESS = 0


def subject(config: AppConfig) -> str:
    workers = config.parallel.num_workers
    if workers == IN_PROCESS:
        return "in-process, all threads"
    mode = "" if config.parallel.mode == "sync" else ", async"
    return f"{workers} worker{'s' if workers != 1 else ''}{mode}"


def collection(config: AppConfig, updates: int) -> float:
    """Plies a second of self-play alone, after one update to warm up."""
    agent = PPOAgent(config, choose_device(config.training.device))
    pool = OpponentPool(config.training.opponents.pool_size, config.training.seed)
    pool.add(0, agent.network.state_dict())
    buffer = ExperienceBuffer(config.rollout_rows)
    collector = make_collector(config, agent, pool)
    try:
        for version in range(1, updates + 2):
            if version == 2:
                began = time.perf_counter()
            buffer.clear()
            collector.collect(buffer, version=version, should_stop=lambda: False)
        return updates * config.rollout_rows / (time.perf_counter() - began)
    finally:
        collector.close()


def settings_of(config: AppConfig, workers: int, games: int, updates: int) -> AppConfig:
    """The configuration with a number of workers and games, without what is not being measured."""
    return overridden(
        config,
        {
            "parallel.num_workers": workers,
            "env.num_games": games,
            "evaluation.opponents": [],
            "record.console": "off",
            "training.time_limit_seconds": 0.0,
            "training.target_kl": 0.0,
            "training.total_plies": games * config.training.rollout_plies * (updates + 1),
        },
        "in the benchmark",
    )


MEASURES: dict[str, Callable[[AppConfig, int], float]] = {
    "collection": collection,
    "end to end": lambda config, _updates: end_to_end(config),
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", default="1,2,4,8", help="numbers of workers to measure")
    parser.add_argument("--games-per-worker", type=int, default=None)
    parser.add_argument("--config", type=Path, default=None, help="YAML file of the run to measure")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--updates", type=int, default=4, help="updates a measurement")
    parser.add_argument("--only", choices=MEASURES, default=None)
    parser.add_argument("--results", type=Path, default=None, help="file to append the figures to")
    options, settings = parser.parse_known_args(arguments)
    config = load_config(options.config, parse_override_tokens(settings)).config
    counts = [IN_PROCESS, *map(int, options.workers.split(","))]
    figures = Figures()
    for _ in range(options.repetitions):
        for name in MEASURES if options.only is None else (options.only,):
            measure_all(name, config, counts, options, figures)
    figures.finish(options.results)


def measure_all(
    name: str, config: AppConfig, counts: Sequence[int], options: argparse.Namespace, figures: Figures
) -> None:
    """One repetition of one measure for all numbers of workers, and what they gain over the first."""
    rates = {}
    for workers in counts:
        games = (workers or max(counts)) * (options.games_per_worker or 0) or config.env.num_games
        chosen = settings_of(config, workers, games, options.updates)
        rates[workers] = MEASURES[name](chosen, options.updates)
        figures.note(f"parallel: {name}", subject(chosen), "plies/s", rates[workers])
    first = counts[1]
    for workers in counts[2:]:
        gain = rates[workers] / rates[first]
        figures.note(f"parallel: {name}, gain", f"{workers} workers against {first}", "×", gain)


if __name__ == "__main__":
    main()
