"""From a loss to new weights: gradients, their norm, the optimiser, and the averaged weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from keisei.config_schema import TrainingConfig
    from keisei.core.networks import ActorCritic
    from keisei.core.ranks import Ranks

ADAM_BETAS = (0.9, 0.999)
#: PPO's customary epsilon, larger than Adam's default: small second moments would make steps explode.
ADAM_EPSILON = 1e-5


def new_optimizer(network: ActorCritic, device: torch.device) -> torch.optim.Adam:
    """Adam; on a GPU in one kernel, with a learning rate that lies there, so that a CUDA graph can hold its step."""
    on_card = device.type == "cuda"
    return torch.optim.Adam(
        network.parameters(),
        lr=torch.zeros((), device=device) if on_card else 0.0,
        betas=ADAM_BETAS,
        eps=ADAM_EPSILON,
        fused=on_card,
        capturable=on_card,
    )


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    for group in optimizer.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate


class GradientStep:
    """One gradient step after the other, on a network and its averaged copy; not taken where it is not finite."""

    def __init__(
        self,
        network: ActorCritic,
        averaged: ActorCritic | None,
        optimizer: torch.optim.Adam,
        scaler: torch.amp.GradScaler,
        ranks: Ranks,
        training: TrainingConfig,
    ) -> None:
        self._network = network
        self._averaged = averaged
        self._optimizer = optimizer
        self._scaler = scaler
        self._ranks = ranks
        self._training = training
        #: What the numbers of a step are, all but the last.
        self.names: tuple[str, ...] = ()

    @property
    def can_be_captured(self) -> bool:
        """Whether the device alone decides if a step is taken; a scaler asks the host, ranks ask each other."""
        return (
            bool(self._optimizer.defaults["fused"]) and not self._scaler.is_enabled() and self._ranks.is_alone
        )

    def __call__(self, loss: Tensor, metrics: dict[str, Tensor]) -> Tensor:
        """float32 [K]: the metrics, the norm of the gradients, and whether the step was taken.

        Loss and metrics are this rank's part. From the sums on, every rank computes the same.
        """
        self._optimizer.zero_grad(set_to_none=True)
        self._scaler.scale(loss).backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        parts = torch.stack([metric.float() for metric in metrics.values()])
        parameters = list(self._network.parameters())
        sums = dict(zip(metrics, self._ranks.add_up_gradients(parameters, parts).unbind(), strict=True))
        self._scaler.unscale_(self._optimizer)
        norm = torch.nn.utils.clip_grad_norm_(parameters, self._training.max_grad_norm)
        finite = torch.isfinite(sums["loss"])
        taken = finite & torch.isfinite(norm)
        if not self._scaler.is_enabled():
            # With a scaler, infinite gradients are how it finds its scale: it skips such a step by itself.
            finite = taken
        self._take(finite)
        self._average(taken)
        self.names = (*sums, "gradient_norm")
        return torch.stack([*sums.values(), norm.float(), finite.float()])

    def _take(self, finite: Tensor) -> None:
        if self._scaler.is_enabled() or not self._optimizer.defaults["fused"]:
            if bool(finite):
                self._scaler.step(self._optimizer)
            # After a skipped step too: only then does the scaler take gradients again.
            self._scaler.update()
            return
        # The fused optimiser looks at this flag on the device and skips the step there: nobody waits for the answer.
        self._optimizer.found_inf = (~finite).float()  # type: ignore[attr-defined]  # as torch's scaler sets it
        self._optimizer.step()

    @torch.no_grad()
    def _average(self, taken: Tensor) -> None:
        """Moves the averaged weights, unless the step was not taken; nobody waits to know which."""
        if self._averaged is None:
            return
        averaged: list[Tensor] = list(self._averaged.parameters())
        current: list[Tensor] = list(self._network.parameters())
        moved = torch._foreach_sub(current, averaged)
        torch._foreach_mul_(moved, (1 - self._training.weight_averaging) * taken.float())
        torch._foreach_add_(averaged, moved)
