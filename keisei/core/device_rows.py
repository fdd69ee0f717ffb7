"""The rows of an update on the learner's device, where minibatches are gathered without another copy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from keisei.core.device_positions import planes_of, unpacked_mask
from keisei.core.device_targets import RolloutOutcome, TargetMaker
from keisei.core.experience_buffer import ExperienceBuffer
from keisei.core.inference import Inference
from keisei.core.outcome_bits import packed_outcomes, unpacked_outcomes
from keisei.core.played_positions import PlayedPositions
from keisei.core.ppo_loss import LossWeights, PpoBatch, ppo_loss
from keisei.core.row_shares import WHOLE, RowShares
from keisei.errors import ExperienceError
from keisei.shogi.positions import legal_mask_bits


class Uploader:
    """Sends arrays to a device, and counts what it sends."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self.bytes_sent = 0

    def __call__(self, array: NDArray[np.generic]) -> Tensor:
        host = torch.from_numpy(array)
        if self._device.type == "cuda":
            # From pinned memory the card fetches by itself. Copied by NumPy: PyTorch would wake threads for it, which
            # takes longer than the copy.
            pinned = torch.empty(host.shape, dtype=host.dtype, pin_memory=True)
            np.copyto(pinned.numpy(), array)
            host = pinned
        self.bytes_sent += host.nbytes
        return host.to(self._device, non_blocking=True)


class DeviceRows(NamedTuple):
    """R rows, or the B rows of a minibatch, as the loss needs them; names as in `RolloutRows` and `RowTargets`."""

    record: Tensor  # uint8 [R, 96]
    legal: Tensor  # uint8 [R, ceil(A / 8)]
    action: Tensor  # int32 [R]
    log_prob: Tensor  # float32 [R]
    forced: Tensor  # bool [R]
    advantage: Tensor  # float32 [R]
    value: Tensor  # float32 [R]
    draw: Tensor  # float32 [R]
    material: Tensor  # float32 [R]
    moves_left: Tensor  # float32 [R]
    reply: Tensor  # int32 [R]

    @classmethod
    def upload(
        cls,
        buffer: ExperienceBuffer,
        send: Uploader,
        num_actions: int,
        num_threads: int,
        make_targets: TargetMaker,
    ) -> DeviceRows:
        """All rows of a buffer. What was played on the device is there already; targets come of it."""
        if buffer.played is not None:
            return _played_rows(buffer, buffer.played, send, make_targets)
        rows = buffer.rows
        return cls(
            record=send(rows.record),
            legal=send(legal_mask_bits(rows.record, num_actions, num_threads=num_threads)),
            action=send(rows.action),
            log_prob=send(rows.log_prob),
            forced=send(rows.forced),
            **{name: send(array) for name, array in buffer.targets.arrays().items()},
        )

    def chosen(self, indices: Tensor) -> DeviceRows:
        """Some rows, one gather a column; indices int32 or int64 [B] on the device."""
        return DeviceRows(*(column.index_select(0, indices) for column in self))

    def batch(self, num_actions: int) -> PpoBatch:
        """What the loss is computed from, besides the planes."""
        return PpoBatch(
            legal=unpacked_mask(self.legal, num_actions),
            action=self.action.long(),
            log_prob=self.log_prob,
            advantage=self.advantage,
            value=self.value,
            draw=self.draw,
            forced=self.forced,
            material=self.material,
            moves_left=self.moves_left,
            reply=self.reply.long(),
        )


def _played_rows(
    buffer: ExperienceBuffer, played: PlayedPositions, send: Uploader, make_targets: TargetMaker
) -> DeviceRows:
    if buffer.horizon is None:
        raise ExperienceError("the rows have no targets; call compute_targets before learning from them")
    outcome = _outcome(buffer, played, send)
    targets = make_targets(outcome, buffer.horizon)
    return DeviceRows(
        record=played.record.flatten(0, 1),
        legal=played.legal.flatten(0, 1),
        action=played.action.flatten(),
        log_prob=played.log_prob.flatten(),
        forced=outcome.forced.flatten(),
        **{name: column.flatten() for name, column in targets._asdict().items()},
    )


def _outcome(buffer: ExperienceBuffer, played: PlayedPositions, send: Uploader) -> RolloutOutcome:
    """What the device has kept, and what it has to be told of how plies ended."""
    rows, shape = buffer.rows, played.action.shape
    outcomes = unpacked_outcomes(send(packed_outcomes(rows)).view(shape))
    return RolloutOutcome(
        record=played.record,
        action=played.action,
        value=played.value,
        next_value=send(rows.next_value).view(shape),
        **outcomes._asdict(),
    )


def device_loss(
    inference: Inference, rows: DeviceRows, weights: LossWeights, shares: RowShares = WHOLE
) -> tuple[Tensor, dict[str, Tensor]]:
    """`ppo_loss` from packed rows: planes and masks exist only inside, where a compiler can fuse them away."""
    output = inference.forward(planes_of(rows.record, inference.tables), with_auxiliary=True)
    return ppo_loss(output, rows.batch(inference.num_actions), weights, shares)
