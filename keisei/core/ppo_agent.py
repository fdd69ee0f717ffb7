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

from keisei.core.compiling import compiled_or_plain, fused_on_gpu
from keisei.core.device_rows import DeviceRows, Uploader, device_loss
from keisei.core.device_targets import TargetMaker
from keisei.core.devices import full_device_named
from keisei.core.inference import Inference
from keisei.core.late_numbers import LateNumbers
from keisei.core.model_factory import architecture_description, model_factory
from keisei.core.optimizer_state import load_optimizer_state
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
ADAM_BETAS = (0.9, 0.999)
#: PPO's customary epsilon, larger than Adam's default: small second moments would make steps explode.
ADAM_EPSILON = 1e-5


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
        self.optimizer = torch.optim.Adam(
            self.network.parameters(),
            lr=training.learning_rate,
            betas=ADAM_BETAS,
            eps=ADAM_EPSILON,
            fused=device.type == "cuda",
        )
        # Only fp16 has a range so small that gradients must be scaled into it.
        self.scaler = torch.amp.GradScaler(device.type, enabled=training.precision == "fp16")
        self._shuffler = np.random.default_rng(training.seed)
        #: By which the schedule of the learning rate is multiplied.
        self.learning_rate_factor = 1.0
        self._guard = _StepGuard()
        self._names: tuple[str, ...] = ()
        # On a GPU more than the network is compiled: all that plays a batch, and all that learns from one.
        compiles_network = training.compile and device.type == "cpu"
        running = compiled_or_plain(self.network) if compiles_network else self.network
        threads = torch.get_num_threads()
        self.inference = Inference(running, device=device, precision=training.precision, num_threads=threads)
        self._send = Uploader(device)
        self._make_targets = TargetMaker(self.inference.tables, ranks.add_up, is_alone=ranks.is_alone)
        self._device_loss = fused_on_gpu(device_loss, device) if training.compile else device_loss

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
        self, buffer: ExperienceBuffer, progress: float, should_stop: Callable[[], bool] = lambda: False
    ) -> dict[str, float]:
        """One update from all rows of the buffer, whose targets must be computed.

        Ends early when the policy has moved ``target_kl`` away from the one that played, or on ``should_stop`` of any
        rank.
        Raises NonFiniteUpdateError after three gradient steps in a row that were not finite.
        """
        training = self._training
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate(progress)
        weights = self.loss_weights(progress)
        figures = _UpdateFigures()
        skipped_before = self._guard.skipped
        uploaded = self._upload(buffer)
        loss_of = self._loss_on(buffer, uploaded, weights)
        late = LateNumbers[NDArray[np.intp]](self.device)
        for indices in self._minibatches(buffer):
            late.add(self._step(*loss_of(indices)), indices)
            for numbers, learned in late.due():
                self._note(figures, numbers, buffer, learned)
            if self._ranks.any(should_stop() or 0 < training.target_kl < figures.newest_kl):
                figures.stopped_early = True
                break
        # While a GPU is still at its last step.
        explained = self._explained_variance(buffer, uploaded)
        for numbers, learned in late.rest():
            self._note(figures, numbers, buffer, learned)
        return {
            **figures.means(self._names),
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

    def _loss_on(
        self, buffer: ExperienceBuffer, uploaded: DeviceRows | None, weights: LossWeights
    ) -> Callable[[NDArray[np.intp]], tuple[Tensor, dict[str, Tensor]]]:
        """The loss of a minibatch and what to report of it; on a GPU from rows that were uploaded once."""
        if uploaded is None:
            return lambda indices: self._host_loss(buffer, indices, weights)
        # Filled on the device: a tensor of a number would be copied there, and waited for.
        annealed = replace(weights, entropy=torch.full((), float(weights.entropy), device=self.device))

        def loss(indices: NDArray[np.intp]) -> tuple[Tensor, dict[str, Tensor]]:
            chosen = uploaded.chosen(self._send(indices.astype(np.int32)))
            return self._device_loss(self.inference, chosen, annealed, self._shares(chosen))

        return loss

    def _host_loss(
        self, buffer: ExperienceBuffer, indices: NDArray[np.intp], weights: LossWeights
    ) -> tuple[Tensor, dict[str, Tensor]]:
        planes, batch = self._batch(buffer, indices)
        output = self.inference.forward(planes, with_auxiliary=True)
        return ppo_loss(output, batch, weights, self._shares(batch))

    def _shares(self, rows: RowKinds) -> RowShares:
        return WHOLE if self._ranks.is_alone else row_shares(rows, self._ranks.add_up)

    def _step(self, loss: Tensor, metrics: dict[str, Tensor]) -> Tensor:
        """One gradient step, not taken where it is not finite. float32 [K]: the metrics, the norm, whether taken.

        Loss and metrics are this rank's part. From the sums on, every rank computes the same.
        """
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        parts = torch.stack([metric.float() for metric in metrics.values()])
        sums = dict(
            zip(metrics, self._ranks.add_up_gradients(self.network.parameters(), parts).unbind(), strict=True)
        )
        self.scaler.unscale_(self.optimizer)
        norm = torch.nn.utils.clip_grad_norm_(self.network.parameters(), self._training.max_grad_norm)
        finite = torch.isfinite(sums["loss"])
        taken = finite & torch.isfinite(norm)
        if not self.scaler.is_enabled():
            # With a scaler, infinite gradients are how it finds its scale: it skips such a step by itself.
            finite = taken
        self._take_step(finite)
        self._average(taken)
        self._names = (*sums, "gradient_norm")
        return torch.stack([*sums.values(), norm.float(), finite.float()])

    def _take_step(self, finite: Tensor) -> None:
        if self.device.type == "cpu" or self.scaler.is_enabled():
            if bool(finite):
                self.scaler.step(self.optimizer)
            # After a skipped step too: only then does the scaler take gradients again.
            self.scaler.update()
            return
        # The fused optimiser looks at this flag on the card and skips the step there: nobody waits for the answer.
        self.optimizer.found_inf = (~finite).float()  # type: ignore[attr-defined]  # as torch's scaler sets it
        self.optimizer.step()

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
            figures.add(dict(zip(self._names, metrics, strict=True)))
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

    @torch.no_grad()
    def _average(self, taken: Tensor) -> None:
        """Moves the averaged weights, unless the step was not taken; nobody waits to know which."""
        if self.averaged is None:
            return
        averaged: list[Tensor] = list(self.averaged.parameters())
        current: list[Tensor] = list(self.network.parameters())
        moved = torch._foreach_sub(current, averaged)
        torch._foreach_mul_(moved, (1 - self._training.weight_averaging) * taken.float())
        torch._foreach_add_(averaged, moved)

    def _explained_variance(self, buffer: ExperienceBuffer, uploaded: DeviceRows | None) -> Tensor:
        """A scalar, on the device that has the returns."""
        values, returns = _values_and_returns(buffer, uploaded)
        if self._ranks.is_alone:
            return explained_variance(values, returns)
        return joint_explained_variance(values, returns, self._ranks.add_up)

    # ---- state

    def generators(self) -> Mapping[str, np.random.Generator]:
        return {"shuffler": self._shuffler}

    def state(self) -> dict[str, Any]:
        """Everything but the weights and random states: optimiser and scaler."""
        return {"optimizer": self.optimizer.state_dict(), "scaler": self.scaler.state_dict()}

    def load_state(self, state: Mapping[str, Any]) -> None:
        load_optimizer_state(self.optimizer, state["optimizer"])
        self.scaler.load_state_dict(dict(state["scaler"]))


def _values_and_returns(buffer: ExperienceBuffer, uploaded: DeviceRows | None) -> tuple[Tensor, Tensor]:
    """Of the learner's rows, on the device that has the returns."""
    if uploaded is not None and buffer.played is not None:
        return buffer.played.value.flatten(), uploaded.value
    learner = buffer.rows.learner
    return torch.from_numpy(buffer.rows.value[learner]), torch.from_numpy(buffer.targets.value[learner])
