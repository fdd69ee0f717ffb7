"""The learner: networks, rows, advantages, losses and the agent that improves by them.

The names below are loaded when they are first asked for, since PyTorch takes seconds to import.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keisei.core.experience_buffer import ExperienceBuffer
    from keisei.core.model_factory import model_factory
    from keisei.core.networks import ActorCritic
    from keisei.core.ppo_agent import PPOAgent
    from keisei.core.rollout import Rollout

__all__ = ["ActorCritic", "ExperienceBuffer", "PPOAgent", "Rollout", "model_factory"]

_HOMES = {
    "ActorCritic": "networks",
    "ExperienceBuffer": "experience_buffer",
    "PPOAgent": "ppo_agent",
    "Rollout": "rollout",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"keisei.core.{_HOMES[name]}"), name)
