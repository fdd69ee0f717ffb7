"""Who plays the games of a run."""

from __future__ import annotations

from keisei.config_schema import AppConfig
from keisei.core.ppo_agent import PPOAgent
from keisei.evaluation.opponent_pool import OpponentPool
from keisei.training.collector import Collector, InProcessCollector
from keisei.training.device_collector import DeviceCollector
from keisei.training.environments import make_env, opened_anchors
from keisei.training.parallel.parallel_collector import ParallelCollector
from keisei.training.parallel.worker_plan import resolve_workers, worker_configs


def make_collector(config: AppConfig, agent: PPOAgent, pool: OpponentPool) -> Collector:
    """Worker processes where the configuration asks for them, else the trainer itself."""
    if resolve_workers(config) == 0:
        if agent.device.type == "cuda" and DeviceCollector.can_play(config):
            return DeviceCollector(config, agent, pool)
        return InProcessCollector(config, agent, pool)
    # Wrong settings are one error here, not one in every worker.
    for own in dict.fromkeys((config, *worker_configs(config).values())):
        make_env(own, num_games=1, seed=config.training.seed, num_threads=1)
    with opened_anchors(config, seed=config.training.seed, device="cpu"):
        pass
    return ParallelCollector(config, agent, pool)
