"""The rows of an update on the learner's device, where minibatches are gathered without another copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from keisei.core.device_player import PlayedPositions
from keisei.core.device_positions import planes_of, unpacked_mask
from keisei.core.device_targets import DeviceTargets, RolloutOutcome, TargetMaker
from keisei.core.experience_buffer import ExperienceBuffer
from keisei.core.inference import Inference
from keisei.core.ppo_loss import LossWeights, PpoBatch, ppo_loss
from keisei.core.row_shares import WHOLE, RowShares
from keisei.errors import ExperienceError
from keisei.shogi.positions import legal_mask_bits


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
        device: torch.device,
        num_actions: int,
        num_threads: int,
        make_targets: TargetMaker,
    ) -> DeviceRows:
        """All rows of a buffer. Positions that were played on the device are there already; targets come of them."""
        rows = buffer.rows

        def tensor(array: NDArray[np.generic]) -> Tensor:
            host = torch.from_numpy(array)
            # From pinned memory the card fetches by itself.
            return (host.pin_memory() if device.type == "cuda" else host).to(device, non_blocking=True)

        if buffer.played is None:
            bits = legal_mask_bits(rows.record, num_actions, num_threads=num_threads)
            positions = PlayedPositions(tensor(rows.record), tensor(bits))
            targets = DeviceTargets(
                **{name: tensor(array) for name, array in buffer.targets.arrays().items()}
            )
        else:
            positions = buffer.played
            targets = _targets_there(buffer, positions, tensor, make_targets)
        return cls(
            record=positions.record.flatten(0, -2),
            legal=positions.legal.flatten(0, -2),
            action=tensor(rows.action),
            log_prob=tensor(rows.log_prob),
            forced=tensor(rows.forced),
            **{name: column.flatten() for name, column in targets._asdict().items()},
        )

    def chosen(self, indices: Tensor) -> DeviceRows:
        """Some rows, one gather a column; indices int64 [B] on the device."""
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


def _targets_there(
    buffer: ExperienceBuffer,
    positions: PlayedPositions,
    tensor: Callable[[NDArray[np.generic]], Tensor],
    make_targets: TargetMaker,
) -> DeviceTargets:
    if buffer.horizon is None:
        raise ExperienceError("the rows have no targets; call compute_targets before learning from them")
    shape = positions.record.shape[:2]
    columns = buffer.rows.arrays()
    names = (name for name in RolloutOutcome._fields if name != "record")
    outcome = {name: tensor(columns[name]).view(shape) for name in names}
    return make_targets(RolloutOutcome(positions.record, **outcome), buffer.horizon)


def device_loss(
    inference: Inference, rows: DeviceRows, weights: LossWeights, shares: RowShares = WHOLE
) -> tuple[Tensor, dict[str, Tensor]]:
    """`ppo_loss` from packed rows: planes and masks exist only inside, where a compiler can fuse them away."""
    output = inference.forward(planes_of(rows.record, inference.piece_table), with_auxiliary=True)
    return ppo_loss(output, rows.batch(inference.num_actions), weights, shares)
