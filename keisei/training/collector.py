"""Where rows come from. The loop knows only this interface; whether processes stand behind it is not its business."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from keisei.config_schema import AppConfig
from keisei.core.experience_buffer import ExperienceBuffer
from keisei.core.inference import Inference
from keisei.core.model_factory import model_factory
from keisei.core.ppo_agent import PPOAgent
from keisei.core.random_states import Generator
from keisei.core.rollout import PlaySettings, Rollout, RolloutSummary
from keisei.core.rollout_rows import RolloutRows
from keisei.evaluation.opponent_pool import OpponentPool
from keisei.shogi import ShogiGame, ShogiVectorEnv
from keisei.training.environments import make_env


class Collector(Protocol):
    """Fills the buffer with one rollout of the newest weights, and can be saved and restored."""

    def collect(
        self, buffer: ExperienceBuffer, *, version: int, should_stop: Callable[[], bool]
    ) -> RolloutSummary: ...

    def watched_game(self) -> ShogiGame: ...

    def generators(self) -> Mapping[str, Generator]: ...

    def state_arrays(self) -> dict[str, NDArray[Any]]: ...

    def load_state_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> None: ...


class InProcessCollector:
    """The trainer plays the games itself, with the learner's own network."""

    def __init__(self, config: AppConfig, agent: PPOAgent, pool: OpponentPool) -> None:
        self._inference = agent.inference
        self._pool = pool
        self._env: ShogiVectorEnv = make_env(config)
        training = config.training
        settings = PlaySettings(
            mate_in_one=training.mate_in_one,
            flip=training.flip,
            opponent_share=training.opponents.share,
            games_kept=config.record.games_kept_per_update,
        )
        self._rollout = Rollout(self._env, settings, seed=training.seed)
        self._rows = RolloutRows.allocate(training.rollout_plies, config.env.num_games)
        opponent = model_factory(config.model, agent.num_actions).to(agent.device).requires_grad_(False)
        self._opponent = Inference(
            opponent, device=agent.device, precision=training.precision, num_threads=torch.get_num_threads()
        )

    def collect(
        self, buffer: ExperienceBuffer, *, version: int, should_stop: Callable[[], bool]
    ) -> RolloutSummary:
        """Plays one rollout; all games against the pool meet the same snapshot, drawn anew each time."""
        snapshot = self._pool.draw()
        if snapshot is not None:
            self._opponent.network.load_state_dict(dict(snapshot.weights))
        summary = self._rollout.play(
            self._rows,
            self._inference,
            version=version,
            opponent=self._opponent if snapshot is not None else None,
            should_stop=should_stop,
        )
        if not summary.stopped:
            buffer.add_batch(self._rows)
        return summary

    def watched_game(self) -> ShogiGame:
        return self._env.game(0)

    def generators(self) -> Mapping[str, Generator]:
        return {**self._rollout.generators(), "pool": self._pool.generator}

    def state_arrays(self) -> dict[str, NDArray[Any]]:
        return self._rollout.state_arrays()

    def load_state_arrays(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        self._rollout.load_state_arrays(arrays)
