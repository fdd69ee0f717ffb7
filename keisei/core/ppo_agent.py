"""The learner: owns the network's parameters, improves them from rows, and chooses moves with them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from keisei.core.compiling import compiled_or_plain
from keisei.core.inference import Inference
from keisei.core.model_factory import architecture_description, model_factory
from keisei.core.ppo_loss import LossWeights, PpoBatch, explained_variance, ppo_loss
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


class PPOAgent:
    """Network, optimiser, gradient scaler and averaged weights of one run.

    ``learn`` takes one update; ``inference`` is the network as it plays. All numbers of an update come back in a
    dict of floats.
    """

    def __init__(self, config: AppConfig, device: torch.device) -> None:
        training = config.training
        self._training = training
        self.device = device
        self.num_actions = action_count(config.env.actions)
        self.architecture = architecture_description(config.model, self.num_actions)
        torch.manual_seed(training.seed)
        self.network: ActorCritic = model_factory(config.model, self.num_actions).to(device)
        self.averaged: ActorCritic | None = None
        if training.weight_averaging > 0:
            self.averaged = model_factory(config.model, self.num_actions).to(device).requires_grad_(False)
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
        running = compiled_or_plain(self.network) if training.compile else self.network
        threads = torch.get_num_threads()
        self.inference = Inference(running, device=device, precision=training.precision, num_threads=threads)

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

    def learn(
        self, buffer: ExperienceBuffer, progress: float, should_stop: Callable[[], bool] = lambda: False
    ) -> dict[str, float]:
        """One update from all rows of the buffer, whose targets must be computed.

        Ends early when the policy has moved ``target_kl`` away from the one that played, or on ``should_stop``.
        Raises NonFiniteUpdateError after three gradient steps in a row that were not finite.
        """
        training = self._training
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate(progress)
        weights = self.loss_weights(progress)
        sums: defaultdict[str, float] = defaultdict(float)
        steps = 0
        first_deviation = math.nan
        stopped_early = False
        skipped_before = self._guard.skipped
        for _ in range(training.epochs):
            for indices in buffer.minibatches(training.minibatch_size, self._shuffler):
                metrics = self._step(buffer, indices, weights)
                if metrics is None:
                    continue
                for name, value in metrics.items():
                    sums[name] += value
                steps += 1
                if steps == 1:
                    first_deviation = metrics["ratio_deviation"]
                if should_stop() or 0 < training.target_kl < metrics["approx_kl"]:
                    stopped_early = True
                    break
            if stopped_early:
                break
        rows, targets = buffer.rows, buffer.targets
        learned = rows.learner
        return {
            **{name: value / max(steps, 1) for name, value in sums.items()},
            "first_ratio_deviation": first_deviation,
            "explained_variance": float(
                explained_variance(
                    torch.from_numpy(rows.value[learned]), torch.from_numpy(targets.value[learned])
                )
            ),
            "learning_rate": self.learning_rate(progress),
            "entropy_weight": weights.entropy,
            "gradient_steps": float(steps),
            "skipped_steps": float(self._guard.skipped - skipped_before),
            "stopped_early": float(stopped_early),
        }

    def _step(
        self, buffer: ExperienceBuffer, indices: NDArray[np.intp], weights: LossWeights
    ) -> dict[str, float] | None:
        """One gradient step; None when it was not finite and therefore not taken."""
        planes, batch = self._batch(buffer, indices)
        output = self.inference.forward(planes, with_auxiliary=True)
        loss, metrics = ppo_loss(output, batch, weights)
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        self.scaler.unscale_(self.optimizer)
        norm = torch.nn.utils.clip_grad_norm_(self.network.parameters(), self._training.max_grad_norm)
        # With a scaler, infinite gradients are how it finds its scale: it skips such a step by itself.
        finite = bool(torch.isfinite(loss)) and (self.scaler.is_enabled() or bool(torch.isfinite(norm)))
        self._guard.note(finite)
        if finite:
            self.scaler.step(self.optimizer)
        # After a skipped step too: only then does the scaler take gradients again.
        self.scaler.update()
        if not finite:
            self._refuse_to_go_on(buffer, indices)
            return None
        self._average()
        names = list(metrics)
        numbers = torch.stack([metrics[name].float() for name in names] + [norm.float()]).tolist()
        return dict(zip([*names, "gradient_norm"], numbers, strict=True))

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
    def _average(self) -> None:
        if self.averaged is None:
            return
        decay = self._training.weight_averaging
        averaged: list[Tensor] = list(self.averaged.parameters())
        current: list[Tensor] = list(self.network.parameters())
        torch._foreach_lerp_(averaged, current, 1 - decay)

    # ---- state

    def generators(self) -> Mapping[str, np.random.Generator]:
        return {"shuffler": self._shuffler}

    def state(self) -> dict[str, Any]:
        """Everything but the weights and random states: optimiser and scaler."""
        return {"optimizer": self.optimizer.state_dict(), "scaler": self.scaler.state_dict()}

    def load_state(self, state: Mapping[str, Any]) -> None:
        self.optimizer.load_state_dict(dict(state["optimizer"]))
        self.scaler.load_state_dict(dict(state["scaler"]))
