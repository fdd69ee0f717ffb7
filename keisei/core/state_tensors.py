"""Nested state ↔ flat tensors + JSON, exactly and without pickle.

An optimiser's ``state_dict`` nests tensors in dicts with whole numbers as keys, lists and tuples. The tensors
go into a safetensors file under readable names; the rest becomes JSON in which objects are marked:
``{"tensor": name}``, ``{"array": name}`` (numpy), ``{"tuple": […]}`` and ``{"dict": [[key, value], …]}``.
"""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from keisei.errors import CheckpointError

Json = Any  # None, bool, int, float, str, list or dict of these


def flatten_state(state: object) -> tuple[dict[str, Tensor], Json]:
    """Take nested state apart; ``restore_state`` puts it together again, equal in every bit and type."""
    tensors: dict[str, Tensor] = {}
    return tensors, _flatten(state, "", tensors)


def _flatten(value: object, place: str, tensors: dict[str, Tensor]) -> Json:
    match value:
        case Tensor():
            return {"tensor": _store(value.detach(), place, tensors)}
        case np.ndarray():
            return {"array": _store(torch.from_numpy(value.copy()), place, tensors)}
        case dict():
            return {
                "dict": [[_key(k, place), _flatten(v, f"{place}/{k}", tensors)] for k, v in value.items()]
            }
        case tuple():
            return {"tuple": [_flatten(v, f"{place}/{i}", tensors) for i, v in enumerate(value)]}
        case list():
            return [_flatten(v, f"{place}/{i}", tensors) for i, v in enumerate(value)]
        case _:
            return _scalar(value, place)


def _scalar(value: object, place: str) -> Json:
    # The exact types: a subclass (numpy's float64 is a float) would come back as its base.
    if value is None or type(value) in (bool, int, str) or (type(value) is float and math.isfinite(value)):
        return value
    raise CheckpointError(
        f"state to be saved consists of tensors, arrays, dicts, lists, tuples, text and finite numbers, got "
        f"{value!r} ({type(value).__name__}) at {place or '/'!r}; convert it first"
    )


def _key(key: object, place: str) -> Json:
    if type(key) in (int, str):
        return key
    raise CheckpointError(
        f"the keys of state to be saved are whole numbers or text, got {key!r} at {place or '/'!r}"
    )


def _store(tensor: Tensor, place: str, tensors: dict[str, Tensor]) -> str:
    name = place.removeprefix("/") or "value"
    while name in tensors:  # {0: …, "0": …} and {"a/b": …, "a": {"b": …}} spell alike
        name += "'"
    tensors[name] = tensor
    return name


def restore_state(tensors: dict[str, Tensor], skeleton: Json) -> Any:
    """Put together what ``flatten_state`` took apart."""
    if isinstance(skeleton, list):
        return [restore_state(tensors, value) for value in skeleton]
    if not isinstance(skeleton, dict):
        return skeleton
    match skeleton:
        case {"tensor": str(name)} if name in tensors:
            return tensors[name]
        case {"array": str(name)} if name in tensors:
            return tensors[name].numpy()
        case {"tuple": list(values)}:
            return tuple(restore_state(tensors, value) for value in values)
        case {"dict": list(pairs)}:
            return {key: restore_state(tensors, value) for key, value in pairs}
        case _:
            raise CheckpointError(
                f"expected a marked tensor, array, tuple or dict and one of the tensors {sorted(tensors)!r}, "
                f"got {skeleton!r}; use an older checkpoint"
            )
