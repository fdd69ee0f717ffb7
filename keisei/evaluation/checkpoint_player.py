"""Networks of checkpoints as players: by their policy, by one ply of look-ahead, or by search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from keisei.core.checkpoint import NAME
from keisei.core.checkpoint_format import MODEL_GROUP, TENSOR_SUFFIX, Manifest
from keisei.core.devices import choose_device
from keisei.core.inference import Inference
from keisei.errors import RunDirectoryError
from keisei.evaluation.checkpoint_network import AVERAGED_GROUP, find_checkpoint, load_network
from keisei.record.run_directory import FORMAT_FILE, RunDirectory
from keisei.shogi import Color, Move, ShogiGame
from keisei.shogi.positions import RECORD_BYTES

#: Positions in one forward pass; the children of many games are judged in several.
BATCH_SIZE = 2048
DIGEST_CHARACTERS = 6
WON, DRAWN, LOST = 1.0, 0.0, -1.0


@dataclass(frozen=True)
class LoadedNetwork:
    """A network ready to play, and where it comes from; ``run`` is None for a checkpoint outside of any run."""

    inference: Inference
    manifest: Manifest
    run: RunDirectory | None
    path: Path

    @property
    def name(self) -> str:
        if self.run is not None:
            return network_name(self.run.name, self.manifest)
        folder = self.path.resolve()
        is_checkpoint = NAME.fullmatch(folder.name) is not None  # named after its update, which says little
        return network_name((folder.parent if is_checkpoint else folder).name, self.manifest)


def network_name(home: str, manifest: Manifest) -> str:
    """Tells a network from every other: run, update, and the beginning of its weights' digest."""
    files = manifest.files
    graded = AVERAGED_GROUP + TENSOR_SUFFIX
    digest = files.get(graded, files[MODEL_GROUP + TENSOR_SUFFIX]).sha256[:DIGEST_CHARACTERS]
    return f"{home}@{manifest.update}#{digest}"


def load_player_network(target: str, runs: Path, device: str) -> LoadedNetwork:
    """The network of a checkpoint folder, or of the newest good checkpoint of a run (its folder or its name).

    Raises CheckpointError or RunDirectoryError for whatever is neither; nothing ever plays with random weights.
    """
    path = find_checkpoint(target, runs)
    network, manifest = load_network(path)
    where = choose_device(device)
    inference = Inference(
        network.to(where), device=where, precision="fp32", num_threads=torch.get_num_threads()
    )
    return LoadedNetwork(inference, manifest, run_of(path), path)


def run_of(path: Path) -> RunDirectory | None:
    """The run that a folder is, or whose checkpoint it is (RUN/checkpoints/update-…)."""
    for folder in (path, path.resolve().parent.parent):
        if (folder / FORMAT_FILE).is_file():
            try:
                return RunDirectory.open(folder)
            except RunDirectoryError:  # the checkpoint can be played although its run cannot be read
                return None
    return None


class ValuePlayer:
    """One ply of look-ahead: plays the move after which the network's value is worst for the opponent.

    The children of all games are judged together. Moves that end the game count as what they bring.
    """

    def __init__(self, name: str, inference: Inference) -> None:
        self.name = name
        self._inference = inference

    def choose(self, games: Sequence[ShogiGame]) -> list[Move]:
        moves = [game.legal_moves() for game in games]
        records, ends = _children(games, moves)
        worth = np.where(np.isnan(ends), -self._values(records), ends)
        last = np.cumsum([len(options) for options in moves])
        return [
            options[int(worth[end - len(options) : end].argmax())]
            for options, end in zip(moves, last.tolist(), strict=True)
        ]

    def _values(self, records: NDArray[np.uint8]) -> NDArray[np.float32]:
        batches = range(0, len(records), BATCH_SIZE)
        return np.concatenate([self._inference.values(records[i : i + BATCH_SIZE]) for i in batches])


def _children(
    games: Sequence[ShogiGame], moves: Sequence[Sequence[Move]]
) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """Packed positions after each move of each game, and what the mover gets where it ends the game (else NaN)."""
    packed: list[bytes] = []
    ends: list[float] = []
    for game, options in zip(games, moves, strict=True):
        mover = game.turn
        for move in options:
            game.play(move)
            packed.append(game.pack())
            ends.append(_end(game, mover))
            game.undo_move()
    return np.frombuffer(b"".join(packed), np.uint8).reshape(-1, RECORD_BYTES), np.array(ends)


def _end(game: ShogiGame, mover: Color) -> float:
    outcome = game.outcome
    if outcome is None:
        return float("nan")
    if outcome.winner is None:
        return DRAWN
    return WON if outcome.winner is mover else LOST
