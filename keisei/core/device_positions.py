"""Packed positions on a GPU: planes, legal masks and their bits, as plain tensor operations.

Each function is its own CPU twin: uncompiled it runs anywhere, and `torch.compile` fuses it with what comes next, so
that neither planes nor masks take a kernel of their own. `native/record.hpp` says how a record is laid out, and
`native/observation.cpp` draws the same planes.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from keisei.core.heads import SQUARES
from keisei.core.networks import BOARD_SIZE
from keisei.shogi.types import PIECE_VALUE

PIECE_CODES = 28
#: The mover's hand, then the opponent's.
HAND_STARTS, HAND_BYTES = (81, 85), 4
HAND_KINDS = 7
FLAGS, PLY, CAP = 89, 90, 92
#: The most that a hand can hold, in the order of the planes.
HAND_LIMITS = (18, 4, 4, 4, 4, 2, 2)
MAX_OCCURRENCES = 3
BITS = 8
BYTE = 1 << BITS
#: Two kinds of piece in hand share a byte.
HALF_BITS = 4
HALF_BYTE = (1 << HALF_BITS) - 1


class PositionTables(NamedTuple):
    """The constants that positions are read with, made once for a device and handed in.

    Made inside a function they would be copied from the host at every call, which a CUDA graph refuses to capture. As
    inputs they are plain loads for a compiler, too: written as a comparison of the board with 1..28, the piece planes
    were computed wrongly by a fused kernel, which took 1 ^ i for 1 + i (PyTorch 2.11 on an H200).
    """

    pieces: Tensor  # [29, 28]: for each code of a square, 0 being empty, the values of the piece planes
    hand_limits: Tensor  # float32 [7], see HAND_LIMITS
    bit_weights: Tensor  # uint8 [8], the lowest bit first
    board_values: Tensor  # int32 [29]: for each code of a square, its worth to the mover
    hand_values: Tensor  # float32 [7]

    @classmethod
    def on(cls, device: torch.device, dtype: torch.dtype = torch.float32) -> PositionTables:
        """Planes are computed in ``dtype``."""
        board = (0, *PIECE_VALUE, *(-value for value in PIECE_VALUE))
        return cls(
            pieces=torch.eye(PIECE_CODES + 1, dtype=dtype, device=device)[:, 1:].contiguous(),
            hand_limits=torch.tensor(HAND_LIMITS, dtype=torch.float32, device=device),
            bit_weights=torch.tensor([1 << bit for bit in range(BITS)], dtype=torch.uint8, device=device),
            board_values=torch.tensor(board, dtype=torch.int32, device=device),
            hand_values=torch.tensor(PIECE_VALUE[:HAND_KINDS], dtype=torch.float32, device=device),
        )


def planes_of(records: Tensor, tables: PositionTables) -> Tensor:
    """uint8 [B, 96] -> [B, 46, 9, 9] in the dtype of the tables, channels last, in the mover's view."""
    pieces = tables.pieces[records[:, :SQUARES].int()]
    scalars = _scalars(records, tables.hand_limits).to(pieces.dtype)[:, None, :].expand(-1, SQUARES, -1)
    squares = torch.cat((pieces, scalars), dim=2)
    return squares.view(-1, BOARD_SIZE, BOARD_SIZE, squares.shape[2]).permute(0, 3, 1, 2)


def _scalars(records: Tensor, hand_limits: Tensor) -> Tensor:
    """float32 [B, 18]: both hands, turn, ply, repetition, check."""
    hands = [_hand(records[:, start : start + HAND_BYTES]) / hand_limits for start in HAND_STARTS]
    flags = records[:, FLAGS].int()
    ply, cap = (records[:, at].float() + BYTE * records[:, at + 1].float() for at in (PLY, CAP))
    share = torch.where(cap > 0, (ply / cap.clamp(min=1)).clamp(max=1), 0.0)
    black_moves = 1.0 - (flags & 1).float()
    occurrences = (flags >> 2 & MAX_OCCURRENCES).float() / MAX_OCCURRENCES
    in_check = (flags >> 1 & 1).float()
    return torch.cat((*hands, torch.stack((black_moves, share, occurrences, in_check), dim=1)), dim=1)


def _hand(packed: Tensor) -> Tensor:
    """uint8 [..., 4] -> float32 [..., 7]: pawns, then two kinds a byte."""
    kinds = packed[..., 1:].int()
    pairs = torch.stack((kinds & HALF_BYTE, kinds >> HALF_BITS), dim=-1).flatten(-2)
    return torch.cat((packed[..., :1].int(), pairs), dim=-1).float()


def material_of(records: Tensor, tables: PositionTables) -> Tensor:
    """uint8 [..., 96] -> int32 [...]: the mover's material less the opponent's, hands included."""
    own, other = (_hand(records[..., start : start + HAND_BYTES]) for start in HAND_STARTS)
    board = tables.board_values[records[..., :SQUARES].int()].sum(dim=-1, dtype=torch.int32)
    return board + ((own - other) * tables.hand_values).sum(dim=-1).int()


def mask_of_lists(actions: Tensor, ends: Tensor, num_actions: int) -> Tensor:
    """bool [B, A] from legal actions one list behind the other, int16 [L], and where each list ends, int32 [B].

    ``actions`` may be longer than the lists: what lies behind the last end is not read.
    """
    places = torch.arange(len(actions), dtype=ends.dtype, device=actions.device)
    rows = torch.searchsorted(ends, places, right=True)
    # Behind the last list the row is B: those writes land in a row that is cut off.
    columns = torch.where(rows < len(ends), actions.long(), 0)
    mask = torch.zeros((len(ends) + 1) * num_actions, dtype=torch.bool, device=actions.device)
    # Not `mask[rows, columns] = True`, which copies the value from the host, nor `index_put_`, which asks the card for
    # the largest index where algorithms must be deterministic: neither can be captured.
    mask.scatter_(0, rows * num_actions + columns, True)
    return mask.view(-1, num_actions)[:-1]


def packed_mask(mask: Tensor, tables: PositionTables) -> Tensor:
    """bool [B, A] -> uint8 [B, ceil(A / 8)], the lowest bit first."""
    padded = torch.nn.functional.pad(mask, (0, -mask.shape[1] % BITS)).view(len(mask), -1, BITS)
    packed: Tensor = (padded.to(torch.uint8) * tables.bit_weights).sum(dim=2, dtype=torch.uint8)
    return packed


def unpacked_mask(bits: Tensor, num_actions: int) -> Tensor:
    """uint8 [B, ceil(A / 8)] -> bool [B, A]."""
    places = torch.arange(num_actions, device=bits.device)
    return (bits[:, places // BITS] >> (places % BITS).to(torch.uint8) & 1).bool()
