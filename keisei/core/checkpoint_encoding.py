"""From the learner's tensors and plain state to the bytes of a checkpoint's files."""

import json
import reprlib
from collections.abc import Mapping
from typing import Any

import safetensors.torch
import torch
from torch import Tensor

from keisei.core.checkpoint_format import FILE_NAME, MODEL_GROUP, TENSOR_SUFFIX
from keisei.errors import CheckpointError

TensorGroups = Mapping[str, Mapping[str, Tensor]]


def encode_groups(groups: TensorGroups) -> dict[str, bytes]:
    """File name → bytes of each group of tensors; nothing that is not finite gets through."""
    if MODEL_GROUP not in groups or not all(FILE_NAME.fullmatch(_file_of(group)) for group in groups):
        raise CheckpointError(
            f"expected tensor groups with lower-case names, {MODEL_GROUP!r} among them, got {list(groups)!r}"
        )
    return {_file_of(group): _encode_tensors(group, tensors) for group, tensors in groups.items()}


def _file_of(group: str) -> str:
    return f"{group}{TENSOR_SUFFIX}"


def _encode_tensors(group: str, tensors: Mapping[str, Tensor]) -> bytes:
    for name, tensor in tensors.items():
        _refuse_non_finite(f"{group}: {name}", tensor)
    # safetensors refuses tensors that share memory (tied weights, views) or are not contiguous: give it
    # copies
    copies = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    return safetensors.torch.save(copies)


def _refuse_non_finite(place: str, tensor: Tensor) -> None:
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return
    number_of_bad = tensor.numel() - int(torch.isfinite(tensor).sum())
    if number_of_bad:
        raise CheckpointError(
            f"only finite tensors are saved, but {number_of_bad} of {tensor.numel()} values of {place!r} are "
            "NaN or infinite; older checkpoints are intact: resume from the last with a lower learning rate"
        )


def encode_json(place: str, value: dict[str, Any]) -> bytes:
    """JSON that comes back equal; what would not (NaN, tuples, numbers as keys) is refused by its key."""
    for key, entry in value.items():
        try:
            returns_equal = json.loads(json.dumps({key: entry}, allow_nan=False)) == {key: entry}
        except (TypeError, ValueError, RecursionError) as error:
            raise CheckpointError(f"{place} {key!r} of a checkpoint must be finite JSON: {error}") from error
        if not returns_equal:
            raise CheckpointError(
                f"{place} {key!r} of a checkpoint would come back changed, got {reprlib.repr(entry)}; "
                "use lists instead of tuples and text as keys"
            )
    return json.dumps(value, allow_nan=False).encode("ascii")
