"""Whether a player computes what the plain network does, before anything is learned from its moves.

Compilers err, and nothing else would tell: a player that sees another board agrees with a learner that sees the same
one, and learns. So each plane is shown by itself, and what it changes in the answers must be what it changes in those
of the plain network, whose planes the engine draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from keisei.core.device_player import DevicePlayer, Moves, Place, Positions
from keisei.core.device_positions import (
    CAP,
    FLAGS,
    HALF_BITS,
    HAND_KINDS,
    HAND_LIMITS,
    HAND_STARTS,
    MAX_OCCURRENCES,
    PIECE_CODES,
    PLY,
)
from keisei.core.heads import SQUARES
from keisei.core.played_positions import PlayedPositions
from keisei.errors import CompilerError
from keisei.shogi import PLANES, RECORD_BYTES, ShogiVectorEnv
from keisei.shogi.positions import legal_mask_bits

#: Half precision rounds in another order when operations are fused; another function differs by its whole opinion.
TOLERATED_NOISE, TOLERATED_SHARE = 0.002, 0.2
#: Positions that show one plane.
POSITIONS_A_PLANE = 16
SEED = 0
PLY_CAP = 200
#: Flags of a position in which no plane is set: White moves, without check or repetition.
NO_PLANE, BLACK_MOVES, CHECK, REPETITION = 0b0001, 0b0000, 0b0011, MAX_OCCURRENCES << 2 | 0b0001


def check_player(player: DevicePlayer, env: ShogiVectorEnv) -> None:
    """CompilerError where answers are not those of the plain network: for each plane by itself, and in the games.

    To be asked of a fresh network: what each plane changes is clear then, and rounding is small beside it. The
    environment has no fewer games than the player has places.
    """
    games = Positions.of(env).chosen(slice(0, player.capacity))
    _check_planes(player, games)
    _check_games(player, games)


def _check_planes(player: DevicePlayer, games: Positions) -> None:
    shown, without = one_plane_each()
    pairs = np.stack((shown.reshape(-1, RECORD_BYTES), without.reshape(-1, RECORD_BYTES)))
    starts = range(0, pairs.shape[1], player.capacity)
    parts = [_compared(player, games, *pairs[:, at : at + player.capacity]) for at in starts]
    differences, changes = np.concatenate(parts, axis=1).reshape(2, *shown.shape[:2])
    wrong = [
        str(plane)
        for plane, (difference, change) in enumerate(zip(differences, changes, strict=True))
        if not _are_close(player, difference, change)
    ]
    if wrong:
        what = "log-probabilities differ from the plain network's where they depend on these planes: "
        raise _error(player, what + ", ".join(wrong))


def _compared(
    player: DevicePlayer, games: Positions, shown: NDArray[np.uint8], without: NDArray[np.uint8]
) -> NDArray[np.float32]:
    """float32 [2, B], of actions that the player draws: by how much it is wrong, and what the planes change.

    As if the legal moves were those of the games.
    """
    legal = games.chosen(slice(0, len(shown))).legal
    player.ask(Positions(shown, legal))
    moves = player.answer()
    expected = _plain_log_probs(player, Positions(shown, legal), moves)
    changed = expected - _plain_log_probs(player, Positions(without, legal), moves)
    return np.stack((moves.log_prob - expected, changed))


def _check_games(player: DevicePlayer, games: Positions) -> None:
    num_actions = player.inference.num_actions
    kept = PlayedPositions.allocate(1, player.capacity, num_actions, player.inference.device)
    player.ask(games, Place(kept, 0))
    moves = player.answer()
    expected = _plain_log_probs(player, games, moves)
    bits = legal_mask_bits(games.record, num_actions)
    # What the network has to say: how far its policy is from choosing blindly.
    opinion = expected + np.log(np.unpackbits(bits, axis=1).sum(axis=1))
    if not _are_close(player, moves.log_prob - expected, opinion):
        raise _error(
            player, "log-probabilities differ from the plain network's in the positions of its games"
        )
    if not np.array_equal(kept.legal[0].cpu().numpy(), bits):
        raise _error(player, "legal moves differ from the engine's")


def _plain_log_probs(player: DevicePlayer, positions: Positions, moves: Moves) -> NDArray[np.float32]:
    """float32 [B], of these moves among the legal ones."""
    log_probs = player.inference.evaluate(positions.record, positions.legal).log_probs.cpu()
    log_probs = (log_probs / player.temperature).log_softmax(dim=1)
    chosen = torch.from_numpy(moves.action.astype(np.int64))[:, None]
    return log_probs.gather(1, chosen).squeeze(1).numpy()


def _are_close(
    player: DevicePlayer, differences: NDArray[np.floating[Any]], opinions: NDArray[np.floating[Any]]
) -> bool:
    """Whether log-probabilities differ by less than the network has to say; not where one is not a number."""
    # A temperature divides what a network says, and its rounding with it.
    noise = TOLERATED_NOISE / player.temperature
    return _root_mean_square(differences) <= noise + TOLERATED_SHARE * _root_mean_square(opinions)


def _error(player: DevicePlayer, what: str) -> CompilerError:
    if player.is_compiled:
        advice = f"the compiler of PyTorch {torch.__version__} errs here: set training.compile to false"
    else:
        advice = f"PyTorch {torch.__version__} errs here: install another one, or set training.device to cpu"
    return CompilerError(f"on {player.inference.device} the player's {what}; {advice}")


def _root_mean_square(numbers: NDArray[np.floating[Any]]) -> float:
    return float(np.sqrt(np.mean(np.square(numbers))))


def one_plane_each() -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """uint8 [46, K, 96] each: for each plane positions that show it, and the same positions without it.

    Pieces stand on a board that is empty else. What is the same on all squares is shown beside pieces of all kinds:
    alone it would say nearly the same of all moves.
    """
    random = np.random.default_rng(SEED)
    without = np.zeros((PLANES, POSITIONS_A_PLANE, RECORD_BYTES), np.uint8)
    without[..., FLAGS] = NO_PLANE
    boards = without[..., :SQUARES]
    is_taken = random.random(boards.shape) < 0.5
    boards[PIECE_CODES:] = (is_taken * random.integers(1, PIECE_CODES + 1, boards.shape))[PIECE_CODES:]
    shown = without.copy()
    for plane in range(PIECE_CODES):
        shown[plane, :, :SQUARES] = is_taken[plane] * (plane + 1)
    # As large as they can be, or half as large.
    shares = random.uniform(0.5, 1, POSITIONS_A_PLANE)
    *hands, turn, ply, repetition, check = shown[PIECE_CODES:]
    _show_hands(hands, shares)
    turn[:, FLAGS], repetition[:, FLAGS], check[:, FLAGS] = BLACK_MOVES, REPETITION, CHECK
    ply[:, PLY], ply[:, CAP] = np.rint(PLY_CAP * shares), PLY_CAP
    return shown, without


def _show_hands(positions: Sequence[NDArray[np.uint8]], shares: NDArray[np.float64]) -> None:
    """Puts pieces of one kind into one hand, kind by kind: such shares [K] of what a hand can hold."""
    kinds = ((start, kind) for start in HAND_STARTS for kind in range(HAND_KINDS))
    for records, (start, kind) in zip(positions, kinds, strict=True):
        # Pawns have a byte, the other kinds share one by twos.
        shift = HALF_BITS if kind and kind % 2 == 0 else 0
        records[:, start + (kind + 1) // 2] = np.rint(HAND_LIMITS[kind] * shares).astype(int) << shift
