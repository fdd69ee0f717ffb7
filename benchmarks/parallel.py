"""Plies a second with worker processes, beside one in-process run with all threads, in the same run.

Collection: rows from the newest weights, without learning. All contestants are there from the start and take turns,
update by update, so that whatever else the machine does meets them alike. Nothing shared: as many processes of one
thread each, which know nothing of each other; this is what the machine allows. End to end: a real training run, its
first update left out, one contestant after the other.
With --games-per-worker every worker plays so many games however many workers there are, and an update grows with them:
this shows what a worker more brings. Without it they share env.num_games, and smaller batches cost each of them speed.
Any setting can be given as --section.key value; without any it is the default configuration.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from multiprocessing import get_context
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Barrier
from pathlib import Path

import torch
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
#: Between two turns: the threads of the one before watch for work for some milliseconds before they sleep.
CALM_SECONDS = 0.02


def subject(config: AppConfig) -> str:
    workers = config.parallel.num_workers
    if workers == IN_PROCESS:
        return "in-process, all threads"
    mode = "" if config.parallel.mode == "sync" else ", async"
    return f"{workers} worker{'s' if workers != 1 else ''}{mode}"


class Player:
    """Somebody who collects rows: workers, or the process itself."""

    def __init__(self, config: AppConfig) -> None:
        agent = PPOAgent(config, choose_device(config.training.device))
        pool = OpponentPool(config.training.opponents.pool_size, config.training.seed)
        pool.add(0, agent.network.state_dict())
        self._rows = config.rollout_rows
        self._buffer = ExperienceBuffer(config.rollout_rows)
        self._collector = make_collector(config, agent, pool)
        self._version = 0
        self._seconds = 0.0

    def play(self) -> None:
        """One update; the first is a warm-up and does not count."""
        self._version += 1
        self._buffer.clear()
        began = time.perf_counter()
        self._collector.collect(self._buffer, version=self._version, should_stop=lambda: False)
        self._seconds += time.perf_counter() - began if self._version > 1 else 0.0

    @property
    def rate(self) -> float:
        return (self._version - 1) * self._rows / self._seconds

    def close(self) -> None:
        self._collector.close()


def collection(configs: Mapping[int, AppConfig], updates: int) -> dict[int, float]:
    """Plies a second of self-play alone, by numbers of workers."""
    with ExitStack() as stack:
        players: dict[int, Player] = {}
        for workers, config in configs.items():
            players[workers] = Player(config)
            stack.callback(players[workers].close)
        for _ in range(updates + 1):
            for player in players.values():
                time.sleep(CALM_SECONDS)
                player.play()
        return {workers: player.rate for workers, player in players.items()}


def nothing_shared(configs: Mapping[int, AppConfig], updates: int) -> dict[int, float]:
    """Plies a second of processes that play side by side, without a learner to hand their rows to."""
    return {
        workers: _lone_players(workers, config, updates)
        for workers, config in configs.items()
        if workers != IN_PROCESS
    }


def _lone_players(count: int, config: AppConfig, updates: int) -> float:
    settings = {
        "parallel.num_workers": IN_PROCESS,
        "env.num_games": config.env.num_games // count,
        "env.num_threads": 1,
    }
    config = overridden(config, settings, "in the benchmark")
    processes = get_context("spawn")
    begin = processes.Barrier(count)
    rates: SimpleQueue[float] = processes.SimpleQueue()
    players = [
        processes.Process(target=_play_alone, args=(config, updates, begin, rates)) for _ in range(count)
    ]
    for player in players:
        player.start()
    found = [rates.get() for _ in players]
    for player in players:
        player.join()
    return sum(found)


def _play_alone(config: AppConfig, updates: int, begin: Barrier, rates: SimpleQueue[float]) -> None:
    torch.set_num_threads(1)
    player = Player(config)
    player.play()
    begin.wait()
    for _ in range(updates):
        player.play()
    player.close()
    rates.put(player.rate)


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


MEASURES: dict[str, Callable[[Mapping[int, AppConfig], int], dict[int, float]]] = {
    "collection": collection,
    "nothing shared": nothing_shared,
    "end to end": lambda configs, _updates: {
        workers: end_to_end(config) for workers, config in configs.items()
    },
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
    for repetition in range(options.repetitions):
        # There and back, so that what the machine does meanwhile favours none.
        order = counts if repetition % 2 == 0 else counts[::-1]
        for name in MEASURES if options.only is None else (options.only,):
            measure_all(name, config, order, options, figures)
    figures.finish(options.results)


def measure_all(
    name: str, config: AppConfig, counts: Sequence[int], options: argparse.Namespace, figures: Figures
) -> None:
    """One repetition of one measure for all numbers of workers, and what they gain."""
    configs = {}
    for workers in counts:
        games = (workers or max(counts)) * (options.games_per_worker or 0) or config.env.num_games
        configs[workers] = settings_of(config, workers, games, options.updates)
    rates = MEASURES[name](configs, options.updates)
    for workers in sorted(rates):
        figures.note(f"parallel: {name}", subject(configs[workers]), "plies/s", rates[workers])
    first = min(set(rates) - {IN_PROCESS})
    for workers in sorted(rates):
        if workers > first:
            gain = rates[workers] / rates[first]
            figures.note(f"parallel: {name}, gain", f"{workers} workers against {first}", "×", gain)
        if workers > 1 and IN_PROCESS in rates:
            gain = rates[workers] / rates[IN_PROCESS]
            figures.note(f"parallel: {name}, gain", f"{workers} workers against in-process", "×", gain)


if __name__ == "__main__":
    main()
