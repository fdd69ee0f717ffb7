"""A network as an ONNX file, compared with PyTorch on real positions before it is written.

Input ``planes`` float32 [batch, 46, 9, 9] (docs/encodings.md); outputs ``policy_logits`` [batch, actions] and
``value_logits`` [batch, 3] (win, draw, loss), all in the mover's view.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from keisei.core.networks import BOARD_SIZE, OBSERVATION_PLANES, ActorCritic
from keisei.durable_files import next_step_after, replace_file
from keisei.errors import ExportError, PackageMissingError
from keisei.shogi import RECORD_BYTES, ShogiVectorEnv, Starts
from keisei.shogi.positions import unpack_planes

#: Largest difference of any output that is taken for rounding.
TOLERANCE = 1e-4
CHECKED_POSITIONS = 1_000
INPUT = "planes"
OUTPUTS = ("policy_logits", "value_logits")
PACKAGES = ("onnx", "onnxscript", "onnxruntime")
_GAMES = 50
_SEED = 1
_PREFIX_PLIES = 150


class _PlayingNetwork(nn.Module):
    """The outputs that play needs, as plain tensors."""

    def __init__(self, network: ActorCritic) -> None:
        super().__init__()
        self.network = network

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        output = self.network(planes, with_auxiliary=False)
        return output.policy_logits, output.value_logits


def export_onnx(network: ActorCritic, path: Path, metadata: Mapping[str, object]) -> float:
    """Writes the network and returns the largest difference from PyTorch over 1,000 positions.

    ``metadata`` goes into the file, each value as text or JSON.
    """
    _require_packages()
    model = onnx_bytes(network, metadata)
    difference = largest_difference(network, model, random_positions(CHECKED_POSITIONS))
    if not difference <= TOLERANCE:
        raise ExportError(
            f"the exported network differs from PyTorch by up to {difference:.3g}, more than {TOLERANCE}; "
            f"nothing was written to {path!s}: upgrade onnxruntime and onnxscript"
        )
    try:
        replace_file(path, model)
    except OSError as error:
        raise ExportError(f"cannot write {path!s}: {error.strerror}; {next_step_after(error)}") from error
    return difference


def onnx_bytes(network: ActorCritic, metadata: Mapping[str, object]) -> bytes:
    """The network as the content of an ONNX file, for batches of any size."""
    example = torch.zeros(2, OBSERVATION_PLANES, BOARD_SIZE, BOARD_SIZE)
    playing = _PlayingNetwork(network).eval()
    try:
        with _quiet_exporter():
            program = torch.onnx.export(
                playing,
                (example,),
                input_names=[INPUT],
                output_names=list(OUTPUTS),
                dynamic_shapes={INPUT: {0: torch.export.Dim("batch")}},
                dynamo=True,
                verbose=False,
            )
    except torch.onnx.OnnxExporterError as error:
        raise ExportError(
            f"{type(network).__name__} cannot be expressed in ONNX: {error}; use one of the built-in architectures"
        ) from error
    if program is None:
        raise ExportError(f"PyTorch {torch.__version__} exported nothing; install PyTorch 2.6 or newer")
    for key, value in metadata.items():
        program.model.metadata_props[key] = value if isinstance(value, str) else json.dumps(value)
    content: bytes = program.model_proto.SerializeToString()
    return content


def largest_difference(network: ActorCritic, model: bytes, records: NDArray[np.uint8]) -> float:
    """The largest absolute difference of any output between PyTorch and onnxruntime; not a number if any is none."""
    onnxruntime = importlib.import_module("onnxruntime")  # optional, and without types

    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    planes = unpack_planes(records)
    with torch.no_grad():
        expected = _PlayingNetwork(network)(torch.from_numpy(planes))
    found = session.run(list(OUTPUTS), {INPUT: planes})
    return max(
        float(np.abs(ours.numpy() - theirs).max()) for ours, theirs in zip(expected, found, strict=True)
    )


def random_positions(count: int) -> NDArray[np.uint8]:
    """Packed positions uint8 [count, 96] from random games, always the same."""
    anywhere = Starts(standard=0, random_prefix=1, prefix_plies=_PREFIX_PLIES)
    env = ShogiVectorEnv(_GAMES, seed=_SEED, num_threads=1, starts=anywhere)
    records = np.empty((count, RECORD_BYTES), np.uint8)
    for begin in range(0, count, _GAMES):
        env.step(env.random_actions())
        records[begin : begin + _GAMES] = env.records[: count - begin]
    return records


def _require_packages() -> None:
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise PackageMissingError(f"export to ONNX needs {', '.join(missing)}; pip install 'keisei[onnx]'")


@contextmanager
def _quiet_exporter() -> Iterator[None]:
    """PyTorch's exporter warns of packages that we do not need, and of what its own code does."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(action="ignore", category=FutureWarning):
            yield
    finally:
        logger.setLevel(level)
