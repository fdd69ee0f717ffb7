"""Where rows come from. The loop knows only this interface; whether processes stand behind it is not its business."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any, Protocol

import torch

from keisei.config_schema import AppConfig
from keisei.core.experience_buffer import ExperienceBuffer
from keisei.core.inference import Inference
from keisei.core.model_factory import model_factory
from keisei.core.ppo_agent import PPOAgent
from keisei.core.random_states import capture_random_states, restore_random_states
from keisei.core.rollout import Rollout, RolloutSummary
from keisei.core.rollout_rows import RolloutRows
from keisei.evaluation.opponent_pool import OpponentPool
from keisei.shogi import ShogiGame, ShogiVectorEnv
from keisei.training.environments import make_env, opened_anchors, play_settings, thread_count

#: How the games of a run without workers are filed; those of its first worker are filed alike.
ONLY_PLAYER = "0"

log = logging.getLogger(__name__)


class Collector(Protocol):
    """Fills the buffer with one rollout of the newest weights, and can be saved and restored."""

    def collect(
        self, buffer: ExperienceBuffer, *, version: int, should_stop: Callable[[], bool]
    ) -> RolloutSummary: ...

    def plays_frozen(self) -> bool:
        """Whether games are played against earlier versions, so that the pool must have some."""
        ...

    def watched_game(self) -> ShogiGame:
        """A game for people to look at."""
        ...

    def status(self) -> dict[str, float]:
        """Figures of the collection itself, for the journal."""
        ...

    def details(self) -> dict[str, Any]:
        """How each worker stands, as plain JSON, as of the last `status`; empty where there are none."""
        ...

    def meanwhile(self) -> None:
        """Called again and again while a GPU learns: the time for work of the CPU that playing leaves behind."""
        ...

    def think_ahead(self) -> None:
        """Called when a GPU has all steps of an update to take: what the new weights are asked first can follow."""
        ...

    def state(self) -> dict[str, Any]:
        """Games in flight and random states by player (process), for a checkpoint."""
        ...

    def load_state(self, state: Mapping[str, Any]) -> None: ...

    def close(self) -> None: ...


class InProcessCollector:
    """The trainer plays the games itself, with the learner's own network."""

    def __init__(self, config: AppConfig, agent: PPOAgent, pool: OpponentPool) -> None:
        self._config = config
        self._inference = agent.inference
        self._pool = pool
        training = config.training
        self._env: ShogiVectorEnv = make_env(
            config, num_games=config.env.num_games, seed=training.seed, num_threads=thread_count(config)
        )
        self._engines = ExitStack()
        anchors = self._engines.enter_context(
            opened_anchors(config, seed=training.seed, device=training.device)
        )
        self._rollout = Rollout(self._env, play_settings(config), seed=training.seed, anchors=anchors)
        self._rows = RolloutRows.allocate(training.rollout_plies, config.env.num_games)
        opponent = model_factory(config.model, agent.num_actions).to(agent.device).requires_grad_(False)
        self._opponent = Inference(
            opponent, device=agent.device, precision=training.precision, num_threads=torch.get_num_threads()
        )

    def collect(
        self, buffer: ExperienceBuffer, *, version: int, should_stop: Callable[[], bool]
    ) -> RolloutSummary:
        """Plays one rollout; all games against the pool meet the snapshot that it draws."""
        snapshot = self._pool.draw()
        if snapshot is not None:
            self._opponent.network.load_state_dict(dict(snapshot.weights))
        summary = self._rollout.play(
            self._rows,
            self._inference,
            version=version,
            opponent=self._opponent if snapshot is not None else None,
            opponent_number=1 if snapshot is None else snapshot.version,
            should_stop=should_stop,
        )
        if not summary.stopped:
            buffer.add_batch(self._rows)
            credit(self._pool, summary)
        return summary

    def plays_frozen(self) -> bool:
        return self._config.training.opponents.share > 0

    def watched_game(self) -> ShogiGame:
        return self._env.game(0)

    def status(self) -> dict[str, float]:
        return {}

    def details(self) -> dict[str, Any]:
        return {}

    def meanwhile(self) -> None:
        """Nothing is left behind."""

    def think_ahead(self) -> None:
        """The learner is busy itself."""

    def state(self) -> dict[str, Any]:
        return {
            ONLY_PLAYER: {
                "games": self._rollout.state_arrays(),
                "random": capture_random_states(self._rollout.generators()),
            }
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        if set(state) != {ONLY_PLAYER}:
            log.warning(
                "the checkpoint holds the games of %d players, this run has one: new games begin", len(state)
            )
            return
        games = state[ONLY_PLAYER]
        if (saved := saved_games(games)) != self._env.num_games:
            log.warning(
                "the checkpoint holds %d games, this run has %d: new games begin", saved, self._env.num_games
            )
            return
        self._rollout.load_state_arrays(games["games"])
        restore_random_states(games["random"], self._rollout.generators())

    def close(self) -> None:
        self._engines.close()


def saved_games(state: Mapping[str, Any]) -> int:
    """How many games in flight one player's part of a checkpoint holds."""
    return len(state["games"]["game"])


def credit(pool: OpponentPool, summary: RolloutSummary) -> None:
    """Tells the pool how the learner did against the versions that played whole games."""
    for game in summary.finished:
        if game.frozen and game.points is not None:
            pool.note_result(game.frozen, game.points)
