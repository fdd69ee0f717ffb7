"""Our own engine as a contestant, through the interface that users have."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from keisei.bench.measurement import Budget, Measurement, Work, Workload, measure_for
from keisei.shogi import PLANES, ShogiGame, ShogiVectorEnv
from keisei.shogi.positions import legal_actions, masks_from_lists, unpack_planes_uint8

ACTIONS = "2187"
WARM_UP_PLIES = 200  # spread the games over all their phases before records are taken from them


class Keisei:
    """Keisei: perft through ShogiGame, random play through ShogiVectorEnv."""

    name = "Keisei"

    def available(self) -> str | None:
        return None

    def workloads(self) -> Mapping[Workload, Work]:
        return {
            Workload.PERFT: self.perft,
            Workload.MOVE_LISTS: self.play,
            Workload.PLANES: self.play_with_planes,
            Workload.UNPACK_PLANES: self.unpack_planes,
            Workload.UNPACK_LEGAL: self.unpack_legal,
        }

    def perft(self, budget: Budget) -> Measurement:
        game = ShogiGame()
        return measure_for(budget.seconds, lambda: game.perft(budget.perft_depth))

    def play(self, budget: Budget) -> Measurement:
        """Every step leaves the packed record and the legal action list of every position."""
        env = _environment(budget)
        actions = np.empty(env.num_games, np.int32)

        def step() -> int:
            env.step(env.random_actions(actions))
            return env.num_games

        return measure_for(budget.seconds, step)

    def play_with_planes(self, budget: Budget) -> Measurement:
        """The same, with 46 uint8 planes and a boolean mask written for every position."""
        env = _environment(budget)
        actions = np.empty(env.num_games, np.int32)
        planes = np.empty((env.num_games, PLANES, 9, 9), np.uint8)
        mask = np.empty((env.num_games, env.num_actions), np.bool_)

        def step() -> int:
            unpack_planes_uint8(env.records, num_threads=budget.num_threads, out=planes)
            masks_from_lists(env.legal, ACTIONS, num_threads=budget.num_threads, out=mask)
            env.step(env.random_actions(actions))
            return env.num_games

        return measure_for(budget.seconds, step)

    def unpack_planes(self, budget: Budget) -> Measurement:
        records = _records(budget)
        planes = np.empty((len(records), PLANES, 9, 9), np.uint8)

        def step() -> int:
            unpack_planes_uint8(records, num_threads=budget.num_threads, out=planes)
            return len(records)

        return measure_for(budget.seconds, step)

    def unpack_legal(self, budget: Budget) -> Measurement:
        records = _records(budget)

        def step() -> int:
            legal_actions(records, ACTIONS, num_threads=budget.num_threads)
            return len(records)

        return measure_for(budget.seconds, step)


def _environment(budget: Budget) -> ShogiVectorEnv:
    return ShogiVectorEnv(budget.num_games, seed=budget.seed, num_threads=budget.num_threads, actions=ACTIONS)


def _records(budget: Budget) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    env = _environment(budget)
    env.play_random(WARM_UP_PLIES)
    return env.records
