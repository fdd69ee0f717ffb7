"""Checkpoints of small networks, written as a run writes them."""

from pathlib import Path

import torch
from network_samples import model_config

from keisei.core.checkpoint import CheckpointStore
from keisei.core.model_factory import architecture_description, model_factory
from keisei.core.networks import ActorCritic
from keisei.record.run_directory import RunDirectory


def small_network(seed: int, architecture: str = "resnet", actions: int = 2187) -> ActorCritic:
    torch.manual_seed(seed)
    return model_factory(model_config(architecture), actions)


def save_checkpoint(
    folder: Path,
    update: int = 1,
    *,
    architecture: str = "resnet",
    actions: int = 2187,
    averaged: bool = False,
) -> Path:
    """A checkpoint whose weights come from the seed `update`, and the averaged ones from `update + 1000`."""
    tensors = {"model": small_network(update, architecture, actions).state_dict()}
    if averaged:
        tensors["averaged"] = small_network(update + 1_000, architecture, actions).state_dict()
    return CheckpointStore(folder).save(
        update,
        plies=100 * update,
        architecture=architecture_description(model_config(architecture), actions),
        tensors=tensors,
        state={},
    )


def make_run(runs: Path, name: str, updates: int = 1) -> RunDirectory:
    """A run with a checkpoint for each update."""
    run = RunDirectory.create(runs, name)
    for update in range(1, updates + 1):
        save_checkpoint(run.checkpoints_path, update)
    return run
