"""Small agents and buffers of really played rows for the tests of this folder."""

import numpy as np
import torch
from self_play import CPU, environment, inference, settings

from keisei.config_loader import load_config
from keisei.core.experience_buffer import ExperienceBuffer
from keisei.core.ppo_agent import PPOAgent
from keisei.core.ranks import ALONE, Ranks
from keisei.core.rollout import Rollout
from keisei.core.rollout_rows import RolloutRows

GAMES, PLIES, MINIBATCH = 12, 16, 48
MINIBATCHES = GAMES * PLIES // MINIBATCH


def agent(ranks: Ranks = ALONE, **changes: object) -> PPOAgent:
    """``changes`` are settings of the training section."""
    overrides: dict[str, object] = {
        "model.architecture": "cnn",
        "model.blocks": 2,
        "model.channels": 16,
        "env.num_games": GAMES,
        "training.rollout_plies": PLIES,
        "training.minibatch_size": MINIBATCH,
        "training.epochs": 1,
        "training.target_kl": 0,
    }
    overrides |= {f"training.{name}": value for name, value in changes.items()}
    return PPOAgent(load_config(None, overrides).config, CPU, ranks)


def played_buffer(
    player: PPOAgent | None = None, *, mate_in_one: bool = True, opponent_share: float = 0.0
) -> ExperienceBuffer:
    """One rollout by the agent, or by a network that no agent has, with its targets; some games against another."""
    how = settings(mate_in_one=mate_in_one, opponent_share=opponent_share)
    rollout = Rollout(environment(GAMES, mate_in_one=mate_in_one), how, seed=1)
    rows = RolloutRows.allocate(PLIES, GAMES)
    learner = inference(seed=9) if player is None else player.inference
    rollout.play(rows, learner, version=1, opponent=inference(seed=8) if opponent_share else None)
    buffer = ExperienceBuffer(rows.action.size)
    buffer.add_batch(rows)
    buffer.compute_targets(gamma=0.99, lam=0.9)
    return buffer


def weights(player: PPOAgent) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in player.network.state_dict().items()}


def are_equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def positions(count: int, seed: int = 0) -> np.ndarray:
    """Packed positions of random games, uint8 [count, 96]."""
    env = environment(count, seed)
    generator = np.random.default_rng(seed)
    for _ in range(int(generator.integers(1, 20))):
        env.step(env.random_actions())
    return env.records.copy()
