"""Plies a second with worker processes, beside one in-process run with all threads, in the same run.

Collection: rows from the newest weights, without learning. End to end: a real training run, its first update left out.
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


def settings_of(config: AppConfig, workers: int, updates: int) -> AppConfig:
    """The configuration with a number of workers, without what is not being measured."""
    return overridden(
        config,
        {
            "parallel.num_workers": workers,
            "evaluation.opponents": [],
            "record.console": "off",
            "training.time_limit_seconds": 0.0,
            "training.target_kl": 0.0,
            "training.total_plies": config.rollout_rows * (updates + 1),
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
        for name, measure in MEASURES.items():
            if options.only in (None, name):
                rates = {}
                for workers in counts:
                    chosen = settings_of(config, workers, options.updates)
                    rates[workers] = measure(chosen, options.updates)
                    figures.note(f"parallel: {name}", subject(chosen), "plies/s", rates[workers])
                for workers in counts[2:]:
                    label = f"{workers} workers against {counts[1]}"
                    figures.note(f"parallel: {name}, gain", label, "×", rates[workers] / rates[counts[1]])
    figures.finish(options.results)


if __name__ == "__main__":
    main()
