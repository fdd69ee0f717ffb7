"""The network of a checkpoint, rebuilt from what the checkpoint says about itself.

Nobody has to name an architecture here, so none can be wrong: a checkpoint that does not describe a network of this
Keisei, or whose weights do not fit the description, is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError

from keisei.config_schema import ModelConfig, RecordConfig
from keisei.core.checkpoint import Checkpoint, CheckpointFolder, load_checkpoint
from keisei.core.checkpoint_format import MANIFEST_FILE, Manifest
from keisei.core.model_factory import architecture_description, architecture_differences, model_factory
from keisei.core.networks import ActorCritic
from keisei.errors import CheckpointError, UnknownRunError
from keisei.networks import SHIPPED, shipped_network
from keisei.record.run_directory import FORMAT_FILE, RunDirectory, list_runs
from keisei.record.run_names import NEWEST

#: The group of tensors that holds the averaged weights, which play better than the last ones.
AVERAGED_GROUP = "averaged"
DEFAULT_RUNS = RecordConfig().runs_folder
#: Between a run and which of its checkpoints is meant; no run has it in its name.
CHOICE_MARK = "@"
STRONGEST = "strongest"
#: The newest runs that an error names.
LISTED_RUNS = 10


def find_checkpoint(target: str, runs: Path = DEFAULT_RUNS) -> Path:
    """The folder that ``target`` names: a path, a run in ``runs``, or the shipped network, also when it is empty.

    ``auto`` is the run trained last. ``RUN@strongest`` is the checkpoint of a run with the highest lower bound of its
    rating, ``RUN@120`` that of an update.
    """
    shipped = shipped_network(target or SHIPPED)
    if shipped is not None:
        return shipped
    if Path(target).is_dir():
        return Path(target)
    name, mark, choice = target.rpartition(CHOICE_MARK)
    if not mark:
        return _run_called(target, runs).path
    return _chosen(_run_called(name or NEWEST, runs), choice)


def _run_called(name: str, runs: Path) -> RunDirectory:
    try:
        return RunDirectory.find(runs, name)
    except UnknownRunError as error:
        newest = [run.name for run in reversed(list_runs(runs))][:LISTED_RUNS]
        raise UnknownRunError(f"{error} (networks here: {', '.join([SHIPPED, *newest])})") from None


def _chosen(run: RunDirectory, choice: str) -> Path:
    folder = CheckpointFolder(run.checkpoints_path)
    if choice == STRONGEST:
        best = folder.best_path()
        if best is None:
            raise CheckpointError(
                f"no checkpoint of the run {run.name!r} has a rating yet; evaluate while training "
                f"(evaluation.interval_updates), or use {run.name!r}, its newest checkpoint"
            )
        return best
    if not choice.isdecimal():
        raise CheckpointError(
            f"expected {STRONGEST!r} or the number of an update behind the '@', got {choice!r}; for example "
            f"{run.name}@{STRONGEST}"
        )
    path = folder.path_of(int(choice))
    if not path.is_dir():
        there = [kept.name for kept in folder.paths()]
        raise CheckpointError(f"the run {run.name!r} has no checkpoint of update {choice}; there are {there}")
    return path


def load_network(path: Path) -> tuple[ActorCritic, Manifest]:
    """The network of a checkpoint folder, or of the newest good checkpoint of a run, as `network_of` gives it."""
    checkpoint = good_checkpoint(path)
    return network_of(checkpoint), checkpoint.manifest


def network_of(checkpoint: Checkpoint) -> ActorCritic:
    """The network of a checkpoint, ready to play, on the CPU; with the averaged weights where there are any."""
    network = _rebuilt(checkpoint)
    weights = checkpoint.tensors.get(AVERAGED_GROUP, checkpoint.model)
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        raise CheckpointError(
            f"the weights in {checkpoint.path!s} do not fit the architecture its manifest describes, "
            f"{dict(checkpoint.manifest.architecture)!r}: {error}; use another checkpoint"
        ) from error
    return network.eval().requires_grad_(False)


def good_checkpoint(path: Path) -> Checkpoint:
    """The checkpoint in a folder, or the newest good one of a run."""
    if (path / MANIFEST_FILE).is_file():
        return load_checkpoint(path)
    if (path / FORMAT_FILE).is_file():
        return CheckpointFolder(RunDirectory.open(path).checkpoints_path).latest_good().checkpoint
    if CheckpointFolder(path).paths():
        return CheckpointFolder(path).latest_good().checkpoint
    raise CheckpointError(
        f"expected the folder of a checkpoint or of a run, got {str(path)!r}; `keisei runs` lists the runs"
    )


def _rebuilt(checkpoint: Checkpoint) -> ActorCritic:
    """A network of the architecture in the manifest, with weights that are still to be loaded."""
    saved = checkpoint.manifest.architecture
    try:
        settings = {name: saved[name] for name in ModelConfig.model_fields}
        model = ModelConfig.model_validate(settings)
        num_actions = int(saved["num_actions"])
    except (KeyError, TypeError, ValueError, ValidationError) as error:
        raise CheckpointError(
            f"the manifest of {checkpoint.path!s} describes no network, expected {sorted(ModelConfig.model_fields)} "
            f"and num_actions, got {dict(saved)!r} ({error}); use another checkpoint"
        ) from error
    _refuse_other_meaning(checkpoint.path, saved, architecture_description(model, num_actions))
    with torch.random.fork_rng(devices=()):  # the first weights are thrown away; nobody else's dice may roll
        return model_factory(model, num_actions)


def _refuse_other_meaning(path: Path, saved: Mapping[str, Any], ours: Mapping[str, Any]) -> None:
    """The same settings may have meant another network when the checkpoint was written."""
    differences = architecture_differences(saved, ours)
    if differences:
        raise CheckpointError(
            f"the network of {path!s} cannot be rebuilt by this Keisei: {', '.join(differences)}; "
            "use the Keisei that wrote it, or another checkpoint"
        )
