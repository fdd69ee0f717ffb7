"""Everything that a run must remember to go on exactly: what goes into a checkpoint, and back out of it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from keisei.core.checkpoint import Checkpoint, CheckpointStore, refuse_other_architecture
from keisei.core.ppo_agent import PPOAgent
from keisei.core.random_states import capture_random_states, restore_random_states
from keisei.core.ranks import ALONE, Ranks
from keisei.core.state_tensors import flatten_state, restore_state
from keisei.errors import CheckpointError
from keisei.evaluation.opponent_pool import OpponentPool
from keisei.record.metrics import Metrics
from keisei.training.collapse_guard import GUARD_STATE, CollapseGuard
from keisei.training.collector import Collector

AVERAGED_GROUP = "averaged"
OPPONENTS_GROUP = "opponents"
TRAINING_GROUP = "training"
#: Under which name the number of ranks lies in a checkpoint; one without it was written by a process alone.
RANKS_STATE = "ranks"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class GamesState:
    """Games in flight and random states at the end of an update, before the next one touches them."""

    #: Copies that nobody changes.
    state: Mapping[str, Any]
    metrics: Mapping[str, Any]
    guard: Mapping[str, Any]


class RunState:
    """Gathers the state of a run's parts, and puts it back."""

    def __init__(
        self,
        agent: PPOAgent,
        collector: Collector,
        pool: OpponentPool,
        metrics: Metrics,
        guard: CollapseGuard,
        ranks: Ranks = ALONE,
    ) -> None:
        self._ranks = ranks
        self._agent = agent
        self._collector = collector
        self._pool = pool
        self._metrics = metrics
        self._guard = guard

    def games(self) -> GamesState:
        """What playing changes. Taken at the end of an update, it fits the weights until the next one learns."""
        state = {
            "games": self._collector.state(),
            "pool": self._pool.state(),
            "random": capture_random_states(self._generators()),
        }
        return GamesState(state, self._metrics.state_dict(), self._guard.state())

    def save(self, store: CheckpointStore, games: GamesState) -> Path:
        """Writes a checkpoint of the learner as it is now and the games as they were taken."""
        tensors, skeleton = flatten_state({"agent": self._agent.state(), **games.state})
        groups: dict[str, Mapping[str, Tensor]] = {
            "model": self._agent.network.state_dict(),
            TRAINING_GROUP: tensors,
        }
        if self._agent.averaged is not None:
            groups[AVERAGED_GROUP] = self._agent.averaged.state_dict()
        if len(self._pool):
            groups[OPPONENTS_GROUP] = self._pool.tensors()
        return store.save(
            games.metrics["updates"],
            plies=games.metrics["plies"],
            architecture=self._agent.architecture,
            tensors=groups,
            state={
                "training": skeleton,
                "metrics": dict(games.metrics),
                GUARD_STATE: dict(games.guard),
                RANKS_STATE: self._ranks.count,
            },
        )

    def rewrite_for_rollback(self, store: CheckpointStore, checkpoint: Checkpoint) -> None:
        """Makes a checkpoint the newest one, with the time that has passed and the guard's count of rollbacks.

        Whoever resumes then, at once or after a kill, goes on from there and knows why.
        """
        store.remove_after(checkpoint.manifest.update)
        metrics = {**checkpoint.state["metrics"], "phase_seconds": self._metrics.phase_seconds()}
        store.save(
            checkpoint.manifest.update,
            plies=checkpoint.manifest.plies,
            architecture=checkpoint.manifest.architecture,
            tensors=checkpoint.tensors,
            state={
                **checkpoint.state,
                "metrics": metrics,
                GUARD_STATE: self._guard.state_after_rollback(),
            },
        )

    def load(self, checkpoint: Checkpoint) -> None:
        """Goes on from a checkpoint of the same architecture; tensors of the same shape are not enough."""
        refuse_other_architecture(checkpoint.path, checkpoint.manifest.architecture, self._agent.architecture)
        try:
            state = restore_state(dict(checkpoint.tensors[TRAINING_GROUP]), checkpoint.state["training"])
            self._agent.network.load_state_dict(checkpoint.model)
            if self._agent.averaged is not None:
                averaged = checkpoint.tensors.get(AVERAGED_GROUP, checkpoint.model)
                self._agent.averaged.load_state_dict(averaged)
            self._agent.load_state(state["agent"])
            self._pool.load_tensors(checkpoint.tensors.get(OPPONENTS_GROUP, {}))
            self._pool.load_state(state["pool"])
            self._metrics.load_state_dict(checkpoint.state["metrics"])
            self._load_games(state["games"], played_by=checkpoint.state.get(RANKS_STATE, 1))
            self._guard.load_state(checkpoint.state.get(GUARD_STATE, {}))
            restore_random_states(state["random"], self._generators())
        except (KeyError, ValueError, RuntimeError) as error:
            raise CheckpointError(
                f"the checkpoint {checkpoint.path!s} does not fit this run: {error}; resume with the settings of the "
                "run's own config.yaml (the network must be the same)"
            ) from error

    def _load_games(self, games: Mapping[str, Any], *, played_by: int) -> None:
        if played_by != self._ranks.count:
            words = "the checkpoint was written by %d ranks, this run has %d: new games begin"
            log.warning(words, played_by, self._ranks.count)
            return
        self._collector.load_state(games)

    def share(self) -> None:
        """Every rank goes on as the first would, from its learner and counters; games stay each rank's own."""
        if self._ranks.is_alone:
            return
        told = self._ranks.told(self._learner() if self._ranks.is_first else {})
        if not self._ranks.is_first:
            self._take_learner(told)

    def _learner(self) -> dict[str, Any]:
        """On the CPU: other ranks have other devices."""
        averaged = self._agent.averaged
        tensors, skeleton = flatten_state(
            {
                "model": dict(self._agent.network.state_dict()),
                "averaged": {} if averaged is None else dict(averaged.state_dict()),
                "agent": self._agent.state(),
                "opponents": self._pool.tensors(),
                "pool": self._pool.state(),
                "metrics": self._metrics.state_dict(),
                "guard": self._guard.state(),
            }
        )
        return {"tensors": {name: tensor.cpu() for name, tensor in tensors.items()}, "skeleton": skeleton}

    def _take_learner(self, told: Mapping[str, Any]) -> None:
        state = restore_state(told["tensors"], told["skeleton"])
        self._agent.network.load_state_dict(state["model"])
        if self._agent.averaged is not None:
            self._agent.averaged.load_state_dict(state["averaged"])
        self._agent.load_state(state["agent"])
        self._pool.load_tensors(state["opponents"])
        self._pool.load_state(state["pool"])
        self._metrics.load_state_dict(state["metrics"])
        self._guard.load_state(state["guard"])

    def _generators(self) -> dict[str, Any]:
        return {**self._agent.generators(), "pool": self._pool.generator}
