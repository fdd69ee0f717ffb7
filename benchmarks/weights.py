"""Weights from the trainer to a worker: shared memory, a plain stream and a compressed stream, with what each costs.

The last figure is the speed of a link above which the compressed stream arrives later than the plain one.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from figures import Figures
from torch import Tensor

from keisei.config_loader import load_config
from keisei.core.checkpoint import load_checkpoint
from keisei.core.model_factory import model_factory
from keisei.shogi.policy import action_count
from keisei.training.parallel import ModelSynchronizer
from keisei.training.parallel.model_sync import BUFFERS
from keisei.training.parallel.weights_layout import WeightsLayout
from keisei.training.parallel.weights_stream import pack_weights, unpack_weights

NETWORKS = {"4 blocks x 48": (4, 48), "10 blocks x 128": (10, 128), "20 blocks x 256": (20, 256)}


def seconds_of(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def new_network(blocks: int, channels: int) -> dict[str, Tensor]:
    config = load_config(None, {"model.blocks": blocks, "model.channels": channels}).config
    return dict(model_factory(config.model, action_count(config.env.actions)).state_dict())


def measure(name: str, weights: Mapping[str, Tensor], figures: Figures) -> None:
    layout = WeightsLayout.of(weights)
    mine = {key: torch.empty_like(tensor) for key, tensor in weights.items()}
    plain = len(pack_weights(weights, layout, compress=False))
    streams: list[bytes] = []
    with ModelSynchronizer(weights) as synchronizer:
        for version in range(1, BUFFERS + 1):
            synchronizer.publish(weights, version)  # touches fresh memory
        seconds = {
            "publish in shared memory": seconds_of(lambda: synchronizer.publish(weights, BUFFERS + 1)),
            "fetch from shared memory": seconds_of(lambda: synchronizer.fetch(mine, newer_than=0)),
            "compress": seconds_of(lambda: streams.append(pack_weights(weights, layout))),
            "decompress": seconds_of(lambda: unpack_weights(streams[0], layout)),
        }
    figures.note("weights: size", name, "B", plain)
    for step, value in seconds.items():
        figures.note(f"weights: {step}", name, "B/s", plain / value)
    figures.note("weights: compressed to", name, "%", 100 * len(streams[0]) / plain)
    break_even = (plain - len(streams[0])) / (seconds["compress"] + seconds["decompress"])
    figures.note("weights: compression pays on links below", name, "B/s", break_even)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument(
        "--checkpoint", type=Path, default=None, help="measure the weights of a checkpoint too"
    )
    parser.add_argument("--results", type=Path, default=None, help="file to append the figures to")
    options = parser.parse_args()
    figures = Figures()
    networks = {f"new {name}": new_network(*shape) for name, shape in NETWORKS.items()}
    if options.checkpoint is not None:
        networks["of a checkpoint"] = dict(load_checkpoint(options.checkpoint).model)
    torch.set_num_threads(1)  # as in a worker
    for _ in range(options.repetitions):
        for name, weights in networks.items():
            measure(name, weights, figures)
    figures.finish(options.results)


if __name__ == "__main__":
    main()
