"""Inputs and networks for the tests of this folder."""

import torch
from torch import Tensor

from keisei.config_schema import ModelConfig
from keisei.core.model_factory import model_factory
from keisei.core.networks import ActorCritic

ARCHITECTURES = ("cnn", "resnet", "resnet_gpool")
ACTION_COUNTS = (2187, 13527)


def model_config(architecture: str = "resnet", **changes: int | bool) -> ModelConfig:
    settings: dict[str, int | bool | str] = {
        "architecture": architecture,
        "blocks": 2,
        "channels": 16,
        "se_ratio": 4,
    }
    return ModelConfig.model_validate({**settings, **changes})


def network(
    architecture: str = "resnet", actions: int = 2187, seed: int = 0, **changes: int | bool
) -> ActorCritic:
    torch.manual_seed(seed)
    return model_factory(model_config(architecture, **changes), actions)


def board_like_planes(batch: int, seed: int = 0) -> Tensor:
    """``[batch, 46, 9, 9]`` as sparse as real ones: a piece on every other square, a few full planes."""
    generator = torch.Generator().manual_seed(seed)
    pieces = torch.randint(0, 56, (batch, 1, 9, 9), generator=generator)
    planes = torch.zeros(batch, 56, 9, 9).scatter_(1, pieces, 1.0)[:, :46]
    planes[:, 28:] = 0
    planes[:, 28:42] = 0.1 * torch.rand(batch, 14, 1, 1, generator=generator)
    planes[:, 42] = torch.randint(0, 2, (batch, 1, 1), generator=generator).float()
    return planes
