"""Training speed against what the network alone allows, in one run.

The bound is 1 / (1 / forward rate + epochs / train rate): the network plays every ply once and learns from it `epochs`
times; the rules, the buffer, sampling and bookkeeping would be free. Both rates are the network's own, measured with
the batch sizes of the run: forward on random planes, train with a plain loss on them.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from figures import Figures

from keisei.config_loader import load_config, parse_override_tokens
from keisei.config_schema import AppConfig
from keisei.core.devices import choose_device
from keisei.core.ppo_agent import PPOAgent
from keisei.record.run_directory import RunDirectory
from keisei.training.trainer import Trainer

SECONDS_PER_RATE = 3.0
WARM_UP = 2
OBSERVATION = (46, 9, 9)


@dataclass(frozen=True)
class Sample:
    """One repetition, in plies (rows) a second."""

    forward: float
    train: float
    end_to_end: float
    epochs: int

    @property
    def bound(self) -> float:
        return 1 / (1 / self.forward + self.epochs / self.train)

    @property
    def share(self) -> float:
        return self.end_to_end / self.bound


def rate(step: Callable[[], None], rows: int) -> float:
    """Rows a second of a step, after a warm-up."""
    for _ in range(WARM_UP):
        step()
    began = time.perf_counter()
    steps = 0
    while time.perf_counter() - began < SECONDS_PER_RATE:
        step()
        steps += 1
    return steps * rows / (time.perf_counter() - began)


def network_rates(config: AppConfig) -> tuple[float, float]:
    """Forward and train rows a second of the network alone."""
    agent = PPOAgent(config, choose_device(config.training.device))
    network, optimizer = agent.network, agent.optimizer
    playing = torch.rand((config.env.num_games, *OBSERVATION), device=agent.device)
    learning = torch.rand((config.training.minibatch_size, *OBSERVATION), device=agent.device)

    @torch.no_grad()
    def forward() -> None:
        network(playing, with_auxiliary=False)

    def train() -> None:
        output = network(learning, with_auxiliary=True)
        loss = output.policy_logits.float().square().mean() + output.value_logits.float().square().mean()
        for prediction in output.auxiliary.values():
            loss = loss + prediction.float().square().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    return rate(forward, len(playing)), rate(train, len(learning))


def end_to_end(config: AppConfig) -> float:
    """Plies a second of a real run, its first update (start-up, first games) left out."""
    times: list[tuple[int, float]] = []

    def note(event: object) -> None:
        plies = getattr(event, "plies", None)
        if plies is not None:
            times.append((plies, time.perf_counter()))

    with tempfile.TemporaryDirectory() as folder:
        Trainer(config, RunDirectory.create(Path(folder)), callbacks=[note]).train()
    (first_plies, first_time), (last_plies, last_time) = times[1], times[-1]
    return (last_plies - first_plies) / (last_time - first_time)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--config", type=Path, default=None, help="YAML file of the run to measure")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--updates", type=int, default=6)
    parser.add_argument("--results", type=Path, default=None, help="file to append the figures to")
    options, settings = parser.parse_known_args(arguments)
    config = load_config(options.config, _bench_settings(options, settings)).config
    figures = Figures()
    for _ in range(options.repetitions):
        forward, train = network_rates(config)
        note(figures, config, Sample(forward, train, end_to_end(config), config.training.epochs))
    figures.finish(options.results)


def _bench_settings(options: argparse.Namespace, settings: Sequence[str]) -> dict[str, object]:
    """The default run, without what is not being measured: evaluation, console, time limit, early stops."""
    given = parse_override_tokens(settings)
    plain = load_config(options.config, given).config
    return {
        "parallel.num_workers": 0,
        "evaluation.opponents": [],
        "record.console": "off",
        "training.time_limit_seconds": 0,
        "training.target_kl": 0,
        "training.total_plies": plain.rollout_rows * options.updates,
        **given,
    }


def note(figures: Figures, config: AppConfig, sample: Sample) -> None:
    model = config.model
    shape = f"{model.architecture} {model.blocks}x{model.channels}, epochs: {config.training.epochs}"
    figures.note("training: network forward", shape, "rows/s", sample.forward)
    figures.note("training: network train", shape, "rows/s", sample.train)
    figures.note("training: bound", shape, "plies/s", sample.bound)
    figures.note("training: end to end", shape, "plies/s", sample.end_to_end)
    figures.note("training: share of the bound", shape, "%", 100 * sample.share)


if __name__ == "__main__":
    main()
