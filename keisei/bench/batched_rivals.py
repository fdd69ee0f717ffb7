"""Environments for reinforcement learning: open_spiel one game at a time, EnvPool and pgx in batches."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keisei.bench.measurement import Budget, Measurement, Work, Workload, measure_for, missing

PLIES_PER_STEP = 64
BATCH = 256


class OpenSpiel:
    """open_spiel: C++ behind pybind11, an object per state."""

    name = "open_spiel"

    def available(self) -> str | None:
        return missing("pyspiel", "open_spiel")

    def workloads(self) -> Mapping[Workload, Work]:
        return {Workload.MOVE_LISTS: self.play, Workload.PLANES: self.play_with_planes}

    def play(self, budget: Budget) -> Measurement:
        game: Any = importlib.import_module("pyspiel").load_game("shogi")
        state, random = game.new_initial_state(), Random(budget.seed).random

        def step() -> int:
            nonlocal state
            played = 0
            for _ in range(PLIES_PER_STEP):
                actions = state.legal_actions()  # empty when the game is over
                if actions:
                    state.apply_action(actions[int(random() * len(actions))])
                    played += 1
                else:
                    state = game.new_initial_state()
            return played

        return measure_for(budget.seconds, step)

    def play_with_planes(self, budget: Budget) -> Measurement:
        """Its observer writes the planes into one array; the mask is made from the action list.

        (`observation_tensor` and `legal_actions_mask` return Python lists, which costs fifty times more.)
        """
        game: Any = importlib.import_module("pyspiel").load_game("shogi")
        observation: Any = importlib.import_module("open_spiel.python.observation").make_observation(game)
        state, random = game.new_initial_state(), Random(budget.seed).random
        mask = np.zeros(game.num_distinct_actions(), np.bool_)

        def step() -> int:
            nonlocal state
            played = 0
            for _ in range(PLIES_PER_STEP):
                actions = state.legal_actions()
                if actions:
                    observation.set_from(state, state.current_player())
                    mask.fill(False)
                    mask[actions] = True
                    state.apply_action(actions[int(random() * len(actions))])
                    played += 1
                else:
                    state = game.new_initial_state()
            return played

        return measure_for(budget.seconds, step)


class EnvPool:
    """EnvPool: native environments in a thread pool; planes and mask come with every step."""

    name = "EnvPool"

    def available(self) -> str | None:
        return missing("envpool", "envpool")

    def workloads(self) -> Mapping[Workload, Work]:
        return {Workload.PLANES: self.play_with_planes}

    def play_with_planes(self, budget: Budget) -> Measurement:
        envpool: Any = importlib.import_module("envpool")
        env = envpool.make_gymnasium(
            "Shogi-v1", num_envs=BATCH, num_threads=budget.num_threads, seed=budget.seed
        )
        rng = np.random.default_rng(budget.seed)
        mask = env.reset()[-1]["legal_action_mask"]

        def step() -> int:
            nonlocal mask
            mask = env.step(choose_by_mask(mask, rng))[-1]["legal_action_mask"]
            return BATCH

        return measure_for(budget.seconds, step)


class Pgx:
    """pgx on the CPU: one compiled function chooses and steps a batch; XLA uses all cores."""

    name = "pgx (CPU, all cores)"

    def available(self) -> str | None:
        return missing("pgx", "pgx 'jax[cpu]'")

    def workloads(self) -> Mapping[Workload, Work]:
        return {Workload.PLANES: self.play_with_planes}

    def play_with_planes(self, budget: Budget) -> Measurement:
        jax: Any = importlib.import_module("jax")
        pgx: Any = importlib.import_module("pgx")
        auto_reset: Any = importlib.import_module("pgx.experimental").auto_reset
        env = pgx.make("shogi")
        step_one = jax.vmap(auto_reset(env.step, env.init))

        def choose_and_step(states: Any, key: Any) -> Any:
            logits = jax.numpy.where(states.legal_action_mask, 0.0, -jax.numpy.inf)
            choice_key, reset_key = jax.random.split(key)
            return step_one(
                states, jax.random.categorical(choice_key, logits), jax.random.split(reset_key, BATCH)
            )

        advance = jax.jit(choose_and_step)
        key = jax.random.PRNGKey(budget.seed)
        states = jax.jit(jax.vmap(env.init))(jax.random.split(key, BATCH))
        states = jax.block_until_ready(advance(states, key))  # compiles; not timed

        def step() -> int:
            nonlocal states, key
            key, step_key = jax.random.split(key)
            states = jax.block_until_ready(advance(states, step_key))
            return BATCH

        return measure_for(budget.seconds, step)


def choose_by_mask(mask: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.int32]:
    """One uniformly random true column of each row, without a random number for every column."""
    columns = np.nonzero(mask)[1]
    counts = mask.sum(axis=1)
    firsts = np.cumsum(counts) - counts
    chosen = firsts + (rng.random(len(mask)) * counts).astype(np.int64)
    return np.asarray(columns[chosen], np.int32)
