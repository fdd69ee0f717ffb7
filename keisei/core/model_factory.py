"""From a ``ModelConfig`` to a network, and to the description that keeps checkpoints honest.

An architecture is a builder ``(model, num_actions) -> ActorCritic``: one of ours, one that was registered, or
one named by its import path ``"package.module:callable"``.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import torch

from keisei.core.heads import POLICY_HEADS
from keisei.core.networks import (
    BOARD_SIZE,
    OBSERVATION_PLANES,
    OUTCOMES,
    ActorCritic,
    NetworkOutput,
    build_cnn,
    build_resnet,
    build_resnet_gpool,
)
from keisei.errors import ConfigError

if TYPE_CHECKING:
    from keisei.config_schema import ModelConfig

Builder: TypeAlias = "Callable[[ModelConfig, int], ActorCritic]"

# Raise it when a built-in architecture gives other outputs for the same weights: old checkpoints are then
# refused.
ARCHITECTURE_REVISION = 1

_TRIAL_POSITIONS = 4
_TRIAL_SEED = 0

_builders: dict[str, Builder] = {
    "cnn": build_cnn,
    "resnet": build_resnet,
    "resnet_gpool": build_resnet_gpool,
}


def register_architecture(name: str, builder: Builder) -> None:
    """Make ``builder`` available as ``model.architecture = name``. A name can be taken only once."""
    if ":" in name or not name:
        raise ConfigError(f"expected an architecture name without ':', got {name!r}; import paths need none")
    if name in _builders:
        raise ConfigError(f"architecture {name!r} is already registered; choose another name")
    _builders[name] = builder


def model_factory(model: ModelConfig, num_actions: int) -> ActorCritic:
    """Build the network on the CPU in float32; its weights come from torch's default generator."""
    if num_actions not in POLICY_HEADS:
        choices = sorted(POLICY_HEADS)
        raise ConfigError(f"expected one of {choices} actions, got {num_actions!r}; set env.actions")
    network = _find_builder(model.architecture)(model, num_actions)
    _check(network, model.architecture, num_actions)
    return network


def architecture_description(model: ModelConfig, num_actions: int) -> dict[str, str | int | bool]:
    """What a network's weights depend on, as JSON values: equal descriptions fit, others do not."""
    return {
        "architecture": model.architecture,
        "auxiliary_heads": model.auxiliary_heads,
        "blocks": model.blocks,
        "channels": model.channels,
        "num_actions": num_actions,
        "observation_planes": OBSERVATION_PLANES,
        "revision": ARCHITECTURE_REVISION,
        "se_ratio": model.se_ratio,
    }


def architecture_differences(saved: Mapping[str, object], wanted: Mapping[str, object]) -> list[str]:
    """One phrase for each entry in which two descriptions differ; empty if they fit."""
    return [
        f"{key} is {saved.get(key)!r} but {wanted.get(key)!r} is wanted"
        for key in sorted(saved.keys() | wanted.keys())
        if saved.get(key) != wanted.get(key)
    ]


def _find_builder(architecture: str) -> Builder:
    if ":" in architecture:
        return _imported_builder(architecture)
    if architecture in _builders:
        return _builders[architecture]
    known = sorted(_builders)
    close = difflib.get_close_matches(architecture, known, n=1)
    advice = f"did you mean {close[0]!r}?" if close else f"use one of {known} or 'package.module:callable'"
    raise ConfigError(f"unknown model.architecture {architecture!r}; {advice}")


def _imported_builder(import_path: str) -> Builder:
    module_name, _, attribute = import_path.partition(":")
    place = f"model.architecture {import_path!r}"
    try:
        module = importlib.import_module(module_name)
    except (ImportError, ValueError) as error:
        raise ConfigError(
            f"{place}: cannot import {module_name!r} ({error}); install it or correct the path"
        ) from error
    builder = getattr(module, attribute, None)
    if builder is None:
        close = difflib.get_close_matches(attribute, dir(module), n=1)
        advice = f"did you mean {close[0]!r}?" if close else "correct the name after ':'"
        raise ConfigError(f"{place}: {module_name!r} has no {attribute!r}; {advice}")
    if not callable(builder):
        raise ConfigError(f"{place}: expected a callable (model, num_actions), got {builder!r}; name another")
    return builder  # type: ignore[no-any-return]  # what it returns is checked when it is called


def _check(network: object, architecture: str, num_actions: int) -> None:
    """Refuse a network that would fail later, or learn from a policy other than the one that played."""
    place = f"model.architecture {architecture!r}"
    if not isinstance(network, ActorCritic):
        raise ConfigError(f"{place}: expected an ActorCritic, got {type(network).__name__}; derive from it")
    learning, playing = _trial_outputs(network)
    if not isinstance(playing, NetworkOutput):
        raise ConfigError(
            f"{place}: expected a NetworkOutput, got {type(playing).__name__}; correct forward()"
        )
    for name, width in (("policy_logits", num_actions), ("value_logits", OUTCOMES)):
        shape, expected = tuple(getattr(playing, name).shape), (_TRIAL_POSITIONS, width)
        if shape != expected:
            raise ConfigError(f"{place}: expected {name} of shape {expected}, got {shape}; correct forward()")
        if not torch.equal(getattr(learning, name), getattr(playing, name)):
            raise ConfigError(
                f"{place}: {name} differ between train() and eval(), so it would not learn the policy that "
                "played; remove BatchNorm, dropout and the like"
            )


def _trial_outputs(network: ActorCritic) -> tuple[NetworkOutput, NetworkOutput]:
    """The answers to the same few random inputs in train() and in eval(); the default generator is left
    alone.
    """
    generator = torch.Generator().manual_seed(_TRIAL_SEED)
    shape = (_TRIAL_POSITIONS, OBSERVATION_PLANES, BOARD_SIZE, BOARD_SIZE)
    planes = torch.rand(shape, generator=generator)
    was_training = network.training
    with torch.no_grad(), torch.random.fork_rng(devices=()):
        learning = network.train()(planes, with_auxiliary=True)
        playing = network.eval()(planes, with_auxiliary=False)
    network.train(was_training)
    return learning, playing
