"""The network of an earlier version that games on a GPU are played against."""

from __future__ import annotations

import copy
import math

import torch

from keisei.core.inference import Inference
from keisei.core.ppo_agent import PPOAgent
from keisei.evaluation.opponent_pool import Snapshot

#: Positions that the frozen network is asked about at once come in such steps.
PLACES_STEP = 64


class FrozenNetwork:
    """A second network beside the learner's, alike but for its weights; captured graphs read these where they lie."""

    def __init__(self, agent: PPOAgent, precision: str) -> None:
        network = copy.deepcopy(agent.network).requires_grad_(False)
        self.inference = Inference(
            network, device=agent.device, precision=precision, num_threads=torch.get_num_threads()
        )
        self._loaded: Snapshot | None = None

    def become(self, snapshot: Snapshot) -> None:
        """Takes the weights of a snapshot, unless it has them."""
        if snapshot is not self._loaded:
            self.inference.network.load_state_dict(dict(snapshot.weights))
            self._loaded = snapshot


def places_for(share: float, games: int) -> int:
    """How many positions the frozen network is asked about at once, where it plays a share of so many games.

    As many as it plays games: it is to move in half of them, so that one question nearly always suffices.
    """
    return min(games, math.ceil(share * games / PLACES_STEP) * PLACES_STEP)
