"""Training on a GPU beside what the network alone could do there, in one run.

The bound of end-to-end speed is 1 / (1 / forward rate + epochs / train rate): the network sees every ply once in play
and `epochs` times in learning, and all else would be free. Both rates are the network's own, compiled and with the
batches of the run: forward in a CUDA graph, train with a plain loss.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

import torch
from torch import Tensor

from keisei.bench.gpu_run import RunFigures, measured_run
from keisei.bench.table import Row, Table
from keisei.config_loader import overridden
from keisei.config_schema import AppConfig
from keisei.core.compiling import fused_on_gpu
from keisei.core.inference import Inference
from keisei.core.networks import BOARD_SIZE, OBSERVATION_PLANES
from keisei.core.ppo_agent import PPOAgent
from keisei.errors import ConfigError

Progress = Callable[[str], None]

#: Multiplication and addition.
OPERATIONS = 2
KERNEL_SIZE = 9
#: A backward pass computes two products for each of the forward pass: by inputs and by weights.
PASSES_OF_TRAINING = 3
CEILING_SIZE = 8192
WARM_UP = 3
STEPS = 20
#: A card at full load lowers its clock within seconds, to stay within its power.
SUSTAINED_SECONDS = 4.0
EPOCHS = (1, 2)
TERA = 1e12


@dataclass(frozen=True)
class Shape:
    """A network's blocks and channels, written as 6x128."""

    blocks: int
    channels: int

    @classmethod
    def parse(cls, text: str) -> Shape:
        blocks, _, channels = text.partition("x")
        if not (blocks.isdecimal() and channels.isdecimal()):
            raise ConfigError(f"a network is written as BLOCKSxCHANNELS, e.g. 6x128, got {text!r}")
        return cls(int(blocks), int(channels))

    def __str__(self) -> str:
        return f"{self.blocks}x{self.channels}"

    @property
    def forward_operations(self) -> int:
        """Floating-point operations of the tower's convolutions for one position."""
        weights = OBSERVATION_PLANES * self.channels + 2 * self.blocks * self.channels**2
        return OPERATIONS * BOARD_SIZE**2 * KERNEL_SIZE * weights


@dataclass(frozen=True)
class NetworkRates:
    """Positions a second of the network alone."""

    forward: float
    train: float

    def bound(self, epochs: int) -> float:
        return 1 / (1 / self.forward + epochs / self.train)


def run(config: AppConfig, shapes: Sequence[Shape], *, updates: int, progress: Progress) -> Table:
    """Measures each network on the first GPU."""
    if not torch.cuda.is_available():
        raise ConfigError(
            f"`keisei bench gpu` needs a GPU, and PyTorch {torch.__version__} sees none; `keisei doctor` tells more"
        )
    torch.backends.cudnn.benchmark = True
    table = Table(baselines=())
    progress("the card's ceiling")
    ceiling = _ceiling()
    table.rows.append(Row("bf16 matrix product", torch.cuda.get_device_name(), "TFLOP/s", [ceiling]))
    for shape in shapes:
        chosen = overridden(
            config,
            {"model.blocks": shape.blocks, "model.channels": shape.channels, "training.target_kl": 0.0},
            "in the benchmark",
        )
        progress(f"{shape}: the network alone")
        rates = _network_rates(chosen)
        _add(table, _rate_rows(shape, rates, ceiling), progress)
        for epochs in EPOCHS:
            progress(f"{shape}: training, epochs {epochs}")
            with tempfile.TemporaryDirectory() as folder:
                run_config = overridden(chosen, {"training.epochs": epochs}, "in the benchmark")
                figures = measured_run(run_config, Path(folder), updates)
            _add(table, _run_rows(f"{shape}, epochs {epochs}", figures, rates.bound(epochs)), progress)
    return table


def _ceiling() -> float:
    """TFLOP/s of a large bf16 matrix product."""
    left, right = (
        torch.randn(CEILING_SIZE, CEILING_SIZE, device="cuda", dtype=torch.bfloat16) for _ in range(2)
    )
    return OPERATIONS * CEILING_SIZE**3 / _seconds(lambda: left @ right) / TERA


def _seconds(step: Callable[[], object]) -> float:
    """Median time of a step on the card, when it has been busy so long that its clock is that of a long run."""
    ends = time.perf_counter() + SUSTAINED_SECONDS
    taken = _median_seconds(step)
    while time.perf_counter() < ends:
        taken = _median_seconds(step)
    return taken


def _median_seconds(step: Callable[[], object]) -> float:
    for _ in range(WARM_UP):
        step()
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(STEPS + 1)]  # type: ignore[no-untyped-call]  # torch
    for mark in marks[:-1]:
        mark.record()
        step()
    marks[-1].record()
    torch.cuda.synchronize()
    return median(float(begin.elapsed_time(end)) for begin, end in pairwise(marks)) / 1000


def _network_rates(config: AppConfig) -> NetworkRates:
    agent = PPOAgent(config, torch.device("cuda"))
    games, rows = config.env.num_games // 2, config.training.minibatch_size
    forward = fused_on_gpu(_answers, agent.device)
    playing = _planes(games, agent.inference.dtype)
    with torch.no_grad():
        for _ in range(WARM_UP):
            forward(agent.inference, playing)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            forward(agent.inference, playing)
    loss_of = fused_on_gpu(_plain_loss, agent.device)
    learning = _planes(rows, agent.inference.dtype)

    def train() -> None:
        agent.optimizer.zero_grad(set_to_none=True)
        loss_of(agent.inference, learning).backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        agent.optimizer.step()

    return NetworkRates(games / _seconds(graph.replay), rows / _seconds(train))


def _planes(count: int, dtype: torch.dtype) -> Tensor:
    planes = torch.randn((count, OBSERVATION_PLANES, BOARD_SIZE, BOARD_SIZE), device="cuda", dtype=dtype)
    return planes.contiguous(memory_format=torch.channels_last)


def _answers(inference: Inference, planes: Tensor) -> tuple[Tensor, Tensor]:
    output = inference.forward(planes, with_auxiliary=False)
    return output.policy_logits, output.value_logits


def _plain_loss(inference: Inference, planes: Tensor) -> Tensor:
    output = inference.forward(planes, with_auxiliary=True)
    predictions = (output.policy_logits, output.value_logits, *output.auxiliary.values())
    return torch.stack([prediction.float().square().mean() for prediction in predictions]).sum()


def _add(table: Table, rows: Sequence[Row], progress: Progress) -> None:
    table.rows += rows
    for row in rows:
        progress(f"  {row.figure}: {row.value_text()}")


def _rate_rows(shape: Shape, rates: NetworkRates, ceiling: float) -> list[Row]:
    rows = []
    passes = {"forward": (rates.forward, 1), "train": (rates.train, PASSES_OF_TRAINING)}
    for name, (rate, cost) in passes.items():
        teraflops = rate * cost * shape.forward_operations / TERA
        rows += [
            Row(f"network alone: {name}", str(shape), "positions/s", [rate]),
            Row(f"network alone: {name}, arithmetic", str(shape), "TFLOP/s", [teraflops]),
            Row(f"network alone: {name}, share of the ceiling", str(shape), "%", [100 * teraflops / ceiling]),
        ]
    return rows


def _run_rows(name: str, figures: RunFigures, bound: float) -> list[Row]:
    shares = [100 * rate / bound for rate in figures.plies_per_second]
    return [
        Row("training: plies", name, "plies/s", figures.plies_per_second),
        Row("training: bound", name, "plies/s", [bound]),
        Row("training: share of the bound", name, "%", shares),
        Row("training: the card is idle", name, "%", [100 * figures.idle_share]),
        Row("training: uploaded", name, "bytes/ply", figures.uploaded_bytes),
        Row("training: mean abs(ratio - 1), first minibatch", name, "", figures.ratio_deviations),
    ]
