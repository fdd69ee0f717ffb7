"""The learner: owns the network's parameters, improves them from rows, and chooses moves with them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from keisei.core.captured import Captured
from keisei.core.compiling import compiled_or_plain, fused_on_gpu
from keisei.core.device_rows import DeviceRows, Uploader, device_loss
from keisei.core.device_targets import TargetMaker
from keisei.core.devices import full_device_named
from keisei.core.gradient_step import GradientStep, new_optimizer, set_learning_rate
from keisei.core.inference import Inference
from keisei.core.late_numbers import LateNumbers
from keisei.core.model_factory import architecture_description, model_factory
from keisei.core.optimizer_state import load_optimizer_state, optimizer_state
from keisei.core.ppo_loss import (
    LossWeights,
    PpoBatch,
    explained_variance,
    joint_explained_variance,
    ppo_loss,
)
from keisei.core.ranks import ALONE, Ranks
from keisei.core.row_shares import WHOLE, RowKinds, RowShares, row_shares
from keisei.core.sampling import draw_actions
from keisei.core.schedules import scheduled
from keisei.errors import NonFiniteUpdateError
from keisei.shogi.policy import action_count

if TYPE_CHECKING:
    from keisei.config_schema import AppConfig
    from keisei.core.experience_buffer import ExperienceBuffer
    from keisei.core.networks import ActorCritic

#: Gradient steps in a row that may fail to be finite before training stops.
MAX_SKIPPED_STEPS = 3


@dataclass
class _StepGuard:
    """Counts gradient steps that were not finite."""

    skipped: int = 0
    in_a_row: int = 0

    def note(self, finite: bool) -> None:
        self.in_a_row = 0 if finite else self.in_a_row + 1
        self.skipped += not finite


@dataclass
class _UpdateFigures:
    """Sums over the gradient steps of one update."""

    sums: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    steps: int = 0
    first_deviation: float = math.nan
    newest_kl: float = 0.0
    stopped_early: bool = False

    def add(self, metrics: Mapping[str, float]) -> None:
        for name, value in metrics.items():
            self.sums[name] += value
        self.steps += 1
        if self.steps == 1:
            self.first_deviation = metrics["ratio_deviation"]
        self.newest_kl = metrics["approx_kl"]

    def means(self, names: tuple[str, ...]) -> dict[str, float]:
        means = {name: self.sums[name] / self.steps for name in names} if self.steps else {}
        return {**means, "first_ratio_deviation": self.first_deviation}


class PPOAgent:
    """Network, optimiser, gradient scaler and averaged weights of one run.

    ``learn`` takes one update; ``inference`` is the network as it plays. All numbers of an update come back in a
    dict of floats. Several ranks learn as one process would that has the rows of all; each passes its own rows and the
    settings of its share.
    """

    def __init__(self, config: AppConfig, device: torch.device, ranks: Ranks = ALONE) -> None:
        training = config.training
        self._training = training
        self._ranks = ranks
        self.device = device
        self.num_actions = action_count(config.env.actions)
        self.architecture = architecture_description(config.model, self.num_actions)
        torch.manual_seed(training.seed)
        self.network = self._new_network(config)
        self.averaged: ActorCritic | None = None
        if training.weight_averaging > 0:
            self.averaged = self._new_network(config).requires_grad_(False)
            self.averaged.load_state_dict(self.network.state_dict())
        self.optimizer = new_optimizer(self.network, device)
        # Only fp16 has a range so small that gradients must be scaled into it.
        self.scaler = torch.amp.GradScaler(device.type, enabled=training.precision == "fp16")
        self._shuffler = np.random.default_rng(training.seed)
        #: By which the schedule of the learning rate is multiplied.
        self.learning_rate_factor = 1.0
        self._guard = _StepGuard()
        # On a GPU more than the network is compiled: all that plays a batch, and all that learns from one.
        compiles_network = training.compile and device.type == "cpu"
        running = compiled_or_plain(self.network) if compiles_network else self.network
        threads = torch.get_num_threads()
        self.inference = Inference(running, device=device, precision=training.precision, num_threads=threads)
        self._send = Uploader(device)
        self._make_targets = TargetMaker(self.inference.tables, ranks.add_up, is_alone=ranks.is_alone)
        self._device_loss = fused_on_gpu(device_loss, device) if training.compile else device_loss
        #: Where compiled and captured code reads it.
        self._entropy_weight = torch.zeros((), device=device)
        self._take_step = GradientStep(
            self.network, self.averaged, self.optimizer, self.scaler, ranks, training
        )
        self._learn_from = self._new_captured_step()

    def _new_captured_step(self) -> Callable[..., Tensor]:
        """A gradient step from the columns of `DeviceRows`, where possible as one CUDA graph."""
        # What is deterministic may ask the host, which a graph refuses.
        is_captured = self._take_step.can_be_captured and not self._training.deterministic
        return Captured(self._step_on_device) if is_captured else self._step_on_device

    def _new_network(self, config: AppConfig) -> ActorCritic:
        network = model_factory(config.model, self.num_actions).to(self.device)
        if self.device.type == "cuda":
            # The layout of the features: convolutions would reorder their weights at every call.
            network = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # missing in torch
        return network

    # ---- playing

    @torch.no_grad()
    def select_action(
        self, records: NDArray[np.uint8], *, generator: torch.Generator | None = None
    ) -> NDArray[np.int64]:
        """One legal action for each packed position uint8 [B, 96]: the likeliest, or drawn with a generator."""
        log_probs = self.inference.evaluate(records).log_probs.cpu()
        actions = log_probs.argmax(dim=1) if generator is None else draw_actions(log_probs, generator)
        return actions.numpy()

    def graded_network(self) -> ActorCritic:
        """The network whose strength is measured: the averaged one where there is one."""
        return self.network if self.averaged is None else self.averaged

    # ---- learning

    def learning_rate(self, progress: float) -> float:
        t = self._training
        return self.learning_rate_factor * scheduled(
            t.learning_rate_schedule,
            t.learning_rate,
            t.learning_rate_end,
            progress,
            steps=t.learning_rate_steps,
        )

    def loss_weights(self, progress: float) -> LossWeights:
        t = self._training
        entropy = scheduled(
            t.entropy_weight_schedule,
            t.entropy_weight,
            t.entropy_weight_end,
            progress,
            steps=t.entropy_weight_steps,
        )
        return LossWeights(
            clip_range=t.clip_range,
            value=t.value_weight,
            entropy=entropy,
            auxiliary=t.auxiliary_weight,
            mate_in_one=t.mate_in_one_weight,
        )

    @property
    def bytes_uploaded(self) -> int:
        """Bytes that were sent to the device to learn from so far."""
        return self._send.bytes_sent

    @full_device_named()
    def learn(
        self,
        buffer: ExperienceBuffer,
        progress: float,
        *,
        should_stop: Callable[[], bool] = lambda: False,
        when_launched: Callable[[], None] = lambda: None,
    ) -> dict[str, float]:
        """One update from all rows of the buffer, whose targets must be computed.

        Ends early when the policy has moved ``target_kl`` away from the one that played, or on ``should_stop`` of any
        rank. ``when_launched`` is called when nothing more will be asked of a GPU, which is still at it.
        Raises NonFiniteUpdateError after three gradient steps in a row that were not finite.
        """
        training = self._training
        set_learning_rate(self.optimizer, self.learning_rate(progress))
        weights = self.loss_weights(progress)
        figures = _UpdateFigures()
        skipped_before = self._guard.skipped
        uploaded = self._upload(buffer)
        step = self._step_on(buffer, uploaded, weights)
        late = LateNumbers[NDArray[np.intp]](self.device)
        for indices in self._minibatches(buffer):
            late.add(step(indices), indices)
            for numbers, learned in late.due():
                self._note(figures, numbers, buffer, learned)
            if self._ranks.any(should_stop() or 0 < training.target_kl < figures.newest_kl):
                figures.stopped_early = True
                break
        # While a GPU is still at its last step.
        explained = self._explained_variance(buffer, uploaded)
        when_launched()
        for numbers, learned in late.rest():
            self._note(figures, numbers, buffer, learned)
        return {
            **figures.means(self._take_step.names),
            "explained_variance": float(explained),
            "learning_rate": self.learning_rate(progress),
            "entropy_weight": float(weights.entropy),
            "gradient_steps": float(figures.steps),
            "skipped_steps": float(self._guard.skipped - skipped_before),
            "stopped_early": float(figures.stopped_early),
        }

    def _minibatches(self, buffer: ExperienceBuffer) -> Iterator[NDArray[np.intp]]:
        size = self._training.minibatch_size
        # As many steps as every rank has rows for: a step is taken by all or by none.
        steps = self._ranks.least(buffer.minibatch_count(size))
        for _ in range(self._training.epochs):
            yield from islice(buffer.minibatches(size, self._shuffler), steps)

    def _upload(self, buffer: ExperienceBuffer) -> DeviceRows | None:
        """All rows, where a GPU learns from them."""
        if self.device.type == "cpu":
            # Not when the first minibatch looks: all ranks must come here together.
            buffer.fill_targets()
            return None
        threads = torch.get_num_threads()
        return DeviceRows.upload(buffer, self._send, self.num_actions, threads, self._make_targets)

    def _step_on(
        self, buffer: ExperienceBuffer, uploaded: DeviceRows | None, weights: LossWeights
    ) -> Callable[[NDArray[np.intp]], Tensor]:
        """A gradient step from a minibatch, see `GradientStep`; on a GPU from rows that were uploaded once."""
        if uploaded is None:
            return lambda indices: self._take_step(*self._host_loss(buffer, indices, weights))
        # Filled on the device: a tensor of a number would be copied there, and waited for.
        self._entropy_weight.fill_(float(weights.entropy))
        return lambda indices: self._learn_from(*uploaded.chosen(self._send(indices.astype(np.int32))))

    def _step_on_device(self, *columns: Tensor) -> Tensor:
        rows = DeviceRows(*columns)
        # Of all weights only this one changes.
        weights = replace(self.loss_weights(0.0), entropy=self._entropy_weight)
        return self._take_step(*self._device_loss(self.inference, rows, weights, self._shares(rows)))

    def _host_loss(
        self, buffer: ExperienceBuffer, indices: NDArray[np.intp], weights: LossWeights
    ) -> tuple[Tensor, dict[str, Tensor]]:
        planes, batch = self._batch(buffer, indices)
        output = self.inference.forward(planes, with_auxiliary=True)
        return ppo_loss(output, batch, weights, self._shares(batch))

    def _shares(self, rows: RowKinds) -> RowShares:
        return WHOLE if self._ranks.is_alone else row_shares(rows, self._ranks.add_up)

    def _note(
        self,
        figures: _UpdateFigures,
        numbers: list[float],
        buffer: ExperienceBuffer,
        indices: NDArray[np.intp],
    ) -> None:
        *metrics, finite = numbers
        self._guard.note(bool(finite))
        if finite:
            figures.add(dict(zip(self._take_step.names, metrics, strict=True)))
        else:
            self._refuse_to_go_on(buffer, indices)

    def _refuse_to_go_on(self, buffer: ExperienceBuffer, indices: NDArray[np.intp]) -> None:
        if self._guard.in_a_row < MAX_SKIPPED_STEPS:
            return
        rows = buffer.rows[indices].arrays()
        targets = {f"target_{name}": array for name, array in buffer.targets[indices].arrays().items()}
        raise NonFiniteUpdateError(
            f"{MAX_SKIPPED_STEPS} gradient steps in a row were not finite; lower training.learning_rate "
            f"(now {self.optimizer.param_groups[0]['lr']:.3g}) or training.precision "
            f"(now {self._training.precision!r}) and resume from the last checkpoint",
            bundle={**rows, **targets},
        )

    def _batch(self, buffer: ExperienceBuffer, indices: NDArray[np.intp]) -> tuple[Tensor, PpoBatch]:
        rows, targets = buffer.rows[indices], buffer.targets[indices]

        def tensor(array: NDArray[Any]) -> Tensor:
            return torch.from_numpy(array).to(self.device, non_blocking=True)

        batch = PpoBatch(
            legal=self.inference.legal(rows.record),
            action=tensor(rows.action).long(),
            log_prob=tensor(rows.log_prob),
            advantage=tensor(targets.advantage),
            value=tensor(targets.value),
            draw=tensor(targets.draw),
            forced=tensor(rows.forced),
            material=tensor(targets.material),
            moves_left=tensor(targets.moves_left),
            reply=tensor(targets.reply).long(),
        )
        return self.inference.planes(rows.record), batch

    def _explained_variance(self, buffer: ExperienceBuffer, uploaded: DeviceRows | None) -> Tensor:
        """A scalar, on the device that has the returns."""
        values, returns = _values_and_returns(buffer, uploaded, self._send)
        if self._ranks.is_alone:
            return explained_variance(values, returns)
        return joint_explained_variance(values, returns, self._ranks.add_up)

    # ---- state

    def generators(self) -> Mapping[str, np.random.Generator]:
        return {"shuffler": self._shuffler}

    def state(self) -> dict[str, Any]:
        """Everything but the weights and random states: optimiser and scaler."""
        return {"optimizer": optimizer_state(self.optimizer), "scaler": self.scaler.state_dict()}

    def load_state(self, state: Mapping[str, Any]) -> None:
        load_optimizer_state(self.optimizer, state["optimizer"])
        # A graph knows the moments by their place.
        self._learn_from = self._new_captured_step()
        self.scaler.load_state_dict(dict(state["scaler"]))


def _values_and_returns(
    buffer: ExperienceBuffer, uploaded: DeviceRows | None, send: Uploader
) -> tuple[Tensor, Tensor]:
    """Of the learner's rows, on the device that has the returns."""
    learner = buffer.rows.learner
    if uploaded is not None and buffer.played is not None:
        values, returns = buffer.played.value.flatten(), uploaded.value
        if learner.all():
            return values, returns
        chosen = send(np.flatnonzero(learner).astype(np.int32))
        return values.index_select(0, chosen), returns.index_select(0, chosen)
    return torch.from_numpy(buffer.rows.value[learner]), torch.from_numpy(buffer.targets.value[learner])
