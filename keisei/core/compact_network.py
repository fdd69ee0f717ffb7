"""A network for others to play with: weights in half precision and nothing else of its training.

The folder has the format of a checkpoint, so whatever loads one loads the other; ``load_state_dict`` widens the weights
to float32 again.
"""

from __future__ import annotations

import copy
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from keisei.core.checkpoint_encoding import encode_groups, encode_json
from keisei.core.checkpoint_format import (
    MANIFEST_FILE,
    MODEL_GROUP,
    STATE_FILE,
    FileDigest,
    Manifest,
    write_folder,
)
from keisei.core.inference import Inference
from keisei.core.networks import ActorCritic
from keisei.core.onnx_export import CHECKED_POSITIONS, random_positions
from keisei.durable_files import (
    next_step_after,
    remove_folder,
    rename_folder,
    temporary_sibling,
    write_new_file,
)
from keisei.errors import ExportError

#: What a package may carry without anybody minding.
MAX_BYTES: Final = 10_000_000
#: Share of positions in which the rounded network must prefer the same move.
LEAST_AGREEMENT: Final = 0.99
_CPU: Final = torch.device("cpu")
#: float16 keeps three bits more of a weight than bfloat16 does; weights do not need its range.
_STORED: Final = torch.float16


@dataclass(frozen=True)
class CompactNetwork:
    """A network whose weights are rounded as they are stored, and what the rounding changed."""

    network: ActorCritic
    #: Of the checkpoint that it was trained as, but with the files of this network.
    manifest: Manifest
    contents: Mapping[str, bytes]
    #: Share of real positions in which both prefer the same legal move.
    agreement: float
    #: Largest difference of the value, which lies between -1 and 1.
    value_difference: float

    @classmethod
    def of(cls, network: ActorCritic, manifest: Manifest) -> Self:
        """Rounds a network on the CPU; ExportError when it is too large, or plays otherwise than before."""
        weights = _rounded(network)
        contents = encode_groups({MODEL_GROUP: weights})
        _refuse_large(network, sum(map(len, contents.values())))
        rounded = copy.deepcopy(network)
        rounded.load_state_dict(weights)
        agreement, difference = _comparison(network, rounded, random_positions(CHECKED_POSITIONS))
        if not agreement >= LEAST_AGREEMENT:
            raise ExportError(
                f"in half precision the network prefers the same move in only {agreement:.1%} of "
                f"{CHECKED_POSITIONS:,} positions, expected at least {LEAST_AGREEMENT:.0%}; train it longer: "
                "it hardly tells moves apart yet"
            )
        return cls(rounded, manifest, contents, agreement, difference)

    @property
    def size(self) -> int:
        """Bytes of the weights."""
        return sum(map(len, self.contents.values()))

    @property
    def num_weights(self) -> int:
        """How many numbers were learned."""
        return _count(self.network)

    def write(self, folder: Path, state: Mapping[str, Any], pages: Mapping[str, str]) -> None:
        """Puts the network where ``folder`` says, with ``pages`` for people beside it; an older network gives way."""
        contents = {**self.contents, STATE_FILE: encode_json("state", dict(state))}
        digests = {name: FileDigest.of(data) for name, data in contents.items()}
        temporary = temporary_sibling(folder)
        refuse_other_folder(folder)
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            write_folder(temporary, contents, replace(self.manifest, files=digests))
            for name, text in pages.items():
                write_new_file(temporary / name, text.encode("utf-8"))
            if folder.exists():
                remove_folder(folder)
            rename_folder(temporary, folder)
        except OSError as error:
            shutil.rmtree(temporary, ignore_errors=True)  # the error to report is the first one
            raise ExportError(
                f"cannot write the network to {folder!s}: {error.strerror}; {next_step_after(error)}"
            ) from error


def refuse_other_folder(folder: Path) -> None:
    """ExportError for a place that holds anything but a network."""
    if folder.exists() and not (folder / MANIFEST_FILE).is_file():
        raise ExportError(
            f"expected a new folder or that of an older network, got {str(folder)!r}, which has no {MANIFEST_FILE}; "
            "choose another place"
        )


def _rounded(network: ActorCritic) -> dict[str, Tensor]:
    weights = {name: _narrow(tensor) for name, tensor in network.state_dict().items()}
    too_large = [name for name, tensor in weights.items() if not torch.isfinite(tensor).all()]
    if too_large:
        raise ExportError(
            f"weights of more than {torch.finfo(_STORED).max:g} do not fit half precision, found in {too_large}; "
            "use an older checkpoint"
        )
    return weights


def _narrow(tensor: Tensor) -> Tensor:
    return tensor.to(_STORED) if tensor.is_floating_point() else tensor


def _refuse_large(network: ActorCritic, size: int) -> None:
    if size > MAX_BYTES:
        raise ExportError(
            f"a network to ship takes at most {MAX_BYTES:,} bytes, this one of {_count(network):,} weights takes "
            f"{size:,} in half precision; train one with fewer model.blocks or model.channels"
        )


def _count(network: ActorCritic) -> int:
    return sum(tensor.numel() for tensor in network.state_dict().values())


def _comparison(first: ActorCritic, second: ActorCritic, records: NDArray[np.uint8]) -> tuple[float, float]:
    """Share of positions with the same favourite, and the largest difference of the values."""
    ours, theirs = (
        Inference(network, device=_CPU, precision="fp32").evaluate(records) for network in (first, second)
    )
    same = ours.log_probs.argmax(dim=1) == theirs.log_probs.argmax(dim=1)
    return float(same.double().mean()), float((ours.value - theirs.value).abs().max())
