"""Batches of packed positions: planes, legal actions, masks, mirror images.

A packed position is a uint8 row of `RECORD_BYTES` in the mover's view, as `ShogiGame.pack` and `ShogiVectorEnv.records`
give it. All functions run in native threads without the GIL.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from keisei.shogi import _native
from keisei.shogi.arrays import as_records, output
from keisei.shogi.policy import action_count

RECORD_BYTES: Final[int] = _native.RECORD_BYTES
MAX_LEGAL_MOVES: Final[int] = _native.MAX_LEGAL_MOVES
PLANES: Final[int] = _native.PLANES
PIECE_PLANES: Final = 28

#: float32 [46]: uint8 planes times this are the float planes (the ply share is rounded to 255ths).
PLANE_SCALE: Final = np.array(_native.PLANE_SCALE, np.float32)

Records = npt.NDArray[np.uint8]


class PlaneBits(NamedTuple):
    """Planes in compact form: `bits` uint64 [B, 28, 2] (square 0 lowest), `scalars` float32 [B, 18]."""

    bits: npt.NDArray[np.uint64]
    scalars: npt.NDArray[np.float32]


class LegalActions(NamedTuple):
    """`actions` uint16 [B, 593], of which the first `counts` (uint16 [B]) of each row count."""

    actions: npt.NDArray[np.uint16]
    counts: npt.NDArray[np.uint16]


def unpack_planes(
    records: Records, *, num_threads: int = 1, out: npt.NDArray[np.float32] | None = None
) -> npt.NDArray[np.float32]:
    """float32 [B, 46, 9, 9], the mover's view."""
    records = as_records(records)
    planes = output((len(records), PLANES, 9, 9), np.float32, out)
    _native.records_to_planes(records, planes, num_threads)
    return planes


def unpack_planes_uint8(
    records: Records, *, num_threads: int = 1, out: npt.NDArray[np.uint8] | None = None
) -> npt.NDArray[np.uint8]:
    """uint8 [B, 46, 9, 9], the mover's view, in units of `PLANE_SCALE`."""
    records = as_records(records)
    planes = output((len(records), PLANES, 9, 9), np.uint8, out)
    _native.records_to_planes(records, planes, num_threads)
    return planes


def unpack_plane_bits(records: Records, *, num_threads: int = 1) -> PlaneBits:
    """Piece planes as bits, the constant planes as one number each."""
    records = as_records(records)
    bits = np.empty((len(records), PIECE_PLANES, 2), np.uint64)
    scalars = np.empty((len(records), PLANES - PIECE_PLANES), np.float32)
    _native.records_to_bits(records, bits, scalars, num_threads)
    return PlaneBits(bits, scalars)


def legal_actions(records: Records, actions: str | int, *, num_threads: int = 1) -> LegalActions:
    """The legal actions of each position, generated again from the position."""
    records = as_records(records)
    legal = np.empty((len(records), MAX_LEGAL_MOVES), np.uint16)
    counts = np.empty(len(records), np.uint16)
    _native.records_to_legal(records, action_count(actions), legal, counts, num_threads)
    return LegalActions(legal, counts)


def legal_masks(
    records: Records, actions: str | int, *, num_threads: int = 1, out: npt.NDArray[np.bool_] | None = None
) -> npt.NDArray[np.bool_]:
    """bool [B, num_actions]."""
    records = as_records(records)
    size = action_count(actions)
    mask = output((len(records), size), np.bool_, out)
    _native.records_to_mask(records, size, mask.view(np.uint8), num_threads)
    return mask


def legal_mask_bits(records: Records, actions: str | int, *, num_threads: int = 1) -> npt.NDArray[np.uint8]:
    """uint8 [B, ceil(num_actions / 8)], as ``np.packbits(masks, axis=1, bitorder="little")`` gives them."""
    records = as_records(records)
    size = action_count(actions)
    bits = np.empty((len(records), (size + 7) // 8), np.uint8)
    _native.records_to_mask(records, size, bits, num_threads)
    return bits


def masks_from_lists(
    legal: LegalActions, actions: str | int, *, num_threads: int = 1, out: npt.NDArray[np.bool_] | None = None
) -> npt.NDArray[np.bool_]:
    """bool [B, num_actions] from lists that are already there, such as those of `ShogiVectorEnv`."""
    size = action_count(actions)
    mask = output((len(legal.counts), size), np.bool_, out)
    lists = np.ascontiguousarray(legal.actions, np.uint16), np.ascontiguousarray(legal.counts, np.uint16)
    _native.legal_to_mask(*lists, size, mask.view(np.uint8), num_threads)
    return mask


def join_lists(
    lists: LegalActions, joined: npt.NDArray[np.uint16], ends: npt.NDArray[np.int32]
) -> npt.NDArray[np.uint16]:
    """Writes the lists one behind the other, and where each ends; the part of ``joined`` that they fill."""
    _native.join_lists(lists.actions, lists.counts, joined, ends)
    return joined[: int(ends[-1])]


def material_balance(records: Records, *, num_threads: int = 1) -> npt.NDArray[np.int32]:
    """int32 [...]: the mover's material less the opponent's, hands included, of records uint8 [..., 96]."""
    rows = as_records(records.reshape(-1, RECORD_BYTES))
    balance = np.empty(len(rows), np.int32)
    _native.records_material(rows, balance, num_threads)
    return balance.reshape(records.shape[:-1])


def mirror_records(records: Records) -> Records:
    """The left-right mirror images of positions; `PolicyOutputMapper.flip_table` mirrors their actions."""
    records = as_records(records)
    mirrored = np.empty_like(records)
    _native.mirror_records(records, mirrored)
    return mirrored
