"""The networks, under the name by which trainers of other projects look for them."""

from keisei.core.model_factory import architecture_description, model_factory, register_architecture
from keisei.core.networks import ActorCritic, NetworkOutput

__all__ = [
    "ActorCritic",
    "NetworkOutput",
    "architecture_description",
    "model_factory",
    "register_architecture",
]
