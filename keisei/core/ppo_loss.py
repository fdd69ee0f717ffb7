"""What an update minimises, as pure functions: the clipped policy gradient, the value loss and companions.

Tensors are ``[B]`` or ``[B, A]`` over B rows and A actions, in the mover's view. Everything is computed in
float32, whatever the dtype of the network's arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from keisei.core.heads import MATERIAL, MOVES_LEFT, REPLY
from keisei.core.networks import NetworkOutput
from keisei.core.rollout_rows import UNKNOWN
from keisei.core.row_shares import WHOLE, AddUp, RowShares

# Finite, because infinity times the probability 0 would make the entropy undefined; half, because
# log_softmax subtracts from it.
ILLEGAL_LOGIT = torch.finfo(torch.float32).min / 2

# What each auxiliary loss counts within auxiliary_weight. The reply's cross-entropy is measured in nats over
# thousands of actions, the others in squared units of about 1; KataGo weighs its reply head with 0.15 too.
AUXILIARY_SHARES = {MATERIAL: 1.0, MOVES_LEFT: 0.5, REPLY: 0.15}


@dataclass(frozen=True)
class PpoBatch:
    """B rows with their targets, on the device of the network."""

    legal: Tensor  # bool [B, A]
    action: Tensor  # int64 [B]
    log_prob: Tensor  # float32 [B], of the action, by the policy that played
    advantage: Tensor  # float32 [B], normalised
    value: Tensor  # float32 [B], the return in -1..1
    draw: Tensor  # float32 [B], see advantages.draw_mass
    forced: Tensor  # bool [B], a mate in one: imitated instead of reinforced
    material: Tensor  # float32 [B], see auxiliary_targets
    moves_left: Tensor  # float32 [B], UNKNOWN where it is
    reply: Tensor  # int64 [B], in the opponent's view, UNKNOWN where it is


@dataclass(frozen=True)
class LossWeights:
    """How much each part of the loss counts, and where the policy ratio is clipped."""

    clip_range: float
    value: float
    entropy: float | Tensor  # annealed: as a tensor it may change without compiling anew
    auxiliary: float
    mate_in_one: float


def ppo_loss(
    output: NetworkOutput, batch: PpoBatch, weights: LossWeights, shares: RowShares = WHOLE
) -> tuple[Tensor, dict[str, Tensor]]:
    """The loss to minimise (a scalar), and what to report (detached scalars on the same device).

    Each row counts 1/B, whether it is reinforced or imitated; reported means are over the rows they concern. With
    ``shares`` everything is the part of one process in a sum over several.
    """
    log_probs = masked_log_probs(output.policy_logits, batch.legal)
    log_prob = log_probs.gather(1, batch.action[:, None]).squeeze(1)
    free = (~batch.forced).float()
    # A forced row's old probability may be anything: exp() might give inf, and inf * 0 is not a number.
    log_ratio = torch.where(batch.forced, 0.0, log_prob - batch.log_prob)
    surrogate = clipped_surrogate(log_ratio, batch.advantage, weights.clip_range)
    entropy = entropies(log_probs)
    value_loss = wdl_loss(output.value_logits, wdl_targets(batch.value, batch.draw))
    auxiliary = auxiliary_losses(output.auxiliary, batch, shares)
    auxiliary_loss = sum(
        (AUXILIARY_SHARES[name] * loss for name, loss in auxiliary.items()), value_loss.new_zeros(())
    )
    over_every_row = (
        -(free * (surrogate + weights.entropy * entropy)).mean()
        - weights.mate_in_one * ((1 - free) * log_prob).mean()
        + weights.value * value_loss
    )
    loss = shares.every * over_every_row + weights.auxiliary * auxiliary_loss
    ratios = ratio_metrics(log_ratio, free, weights.clip_range)
    metrics = {
        "loss": loss,
        "policy_loss": -shares.free * _mean(surrogate, free),
        "value_loss": shares.every * value_loss,
        "entropy": shares.free * _mean(entropy, free),
        "mate_in_one_loss": -shares.forced * _mean(log_prob, 1 - free),
        **{f"{name}_loss": part for name, part in auxiliary.items()},
        **{name: shares.free * metric for name, metric in ratios.items()},
    }
    return loss, {name: metric.detach() for name, metric in metrics.items()}


def masked_log_probs(logits: Tensor, legal: Tensor) -> Tensor:
    """Log-probabilities among the legal actions, float32 ``[B, A]``; elsewhere hugely negative, no gradient."""
    return F.log_softmax(torch.where(legal, logits.float(), ILLEGAL_LOGIT), dim=1)


def entropies(log_probs: Tensor) -> Tensor:
    """Entropy in nats of each row of ``masked_log_probs``, ``[B, A]`` -> ``[B]``."""
    # The softmax of log-probabilities is their exp(), which on a CPU is 15 times slower where it underflows.
    return -(F.softmax(log_probs, dim=1) * log_probs).sum(dim=1)


def clipped_surrogate(log_ratio: Tensor, advantage: Tensor, clip_range: float) -> Tensor:
    """PPO's pessimistic gain of each row, ``[B]`` (to be maximised)."""
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - clip_range, 1 + clip_range)
    return torch.minimum(ratio * advantage, clipped * advantage)


def wdl_targets(returns: Tensor, draw: Tensor) -> Tensor:
    """A return as probabilities of win, draw, loss: ``[B]``, ``[B]`` -> ``[B, 3]``.

    Cross-entropy is least where the prediction is the mean target, and in every target P(win) - P(loss) is
    the return: so the scalar value regresses to the mean return, whatever the draw mass. The draw mass only
    says what an even score is made of. It is what is known of true draws, and never more than the return
    leaves room for; all else is win or loss, since nearly all shogi games are decided: a bootstrapped 0 means
    "even", not "drawn".
    """
    returns = returns.clamp(-1, 1)
    undecided = 1 - returns.abs()
    draw = torch.minimum(draw, undecided)
    either = (undecided - draw) / 2
    return torch.stack((returns.clamp(min=0) + either, draw, (-returns).clamp(min=0) + either), dim=1)


def wdl_loss(value_logits: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy of the outcome heads ``[B, 3]`` against target probabilities ``[B, 3]``."""
    return -(targets * F.log_softmax(value_logits.float(), dim=1)).sum(dim=1).mean()


def auxiliary_losses(
    predictions: dict[str, Tensor], batch: PpoBatch, shares: RowShares = WHOLE
) -> dict[str, Tensor]:
    """The loss of each auxiliary prediction that the network makes, averaged over the rows with a known
    target.
    """
    if not predictions:
        return {}
    material = F.smooth_l1_loss(predictions[MATERIAL].float(), batch.material)
    distance = F.smooth_l1_loss(predictions[MOVES_LEFT].float(), batch.moves_left, reduction="none")
    surprise = F.cross_entropy(
        predictions[REPLY].float(), batch.reply, ignore_index=UNKNOWN, reduction="none"
    )
    return {
        MATERIAL: shares.every * material,
        MOVES_LEFT: shares.moves_left * _mean(distance, (batch.moves_left != UNKNOWN).float()),
        REPLY: shares.reply * _mean(surprise, (batch.reply != UNKNOWN).float()),
    }


def ratio_metrics(log_ratio: Tensor, free: Tensor, clip_range: float) -> dict[str, Tensor]:
    """How far the policy is from the one that played, over the rows whose weight ``free`` is 1 (else 0)."""
    ratio = log_ratio.exp()
    deviation = (ratio - 1).abs()
    return {
        # Unbiased and never negative, where -log_ratio has the larger variance (Schulman 2020).
        "approx_kl": _mean(ratio - 1 - log_ratio, free),
        "clip_fraction": _mean((deviation > clip_range).float(), free),
        "ratio_deviation": _mean(deviation, free),
    }


def explained_variance(values: Tensor, returns: Tensor) -> Tensor:
    """The share of the returns' variance that the values predict: 1 is perfect, 0 no better than the mean.

    0 where all returns are equal, since there is nothing to explain.
    """
    variance = returns.var(correction=0)
    share = 1 - (returns - values).var(correction=0) / variance
    return torch.where(variance > 0, share, torch.zeros_like(share))


def joint_explained_variance(values: Tensor, returns: Tensor, add_up: AddUp) -> Tensor:
    """`explained_variance` over the rows of all processes that ``add_up`` adds up over."""
    # Squares of numbers in -1..1 are summed: in float64 nothing of their differences is lost.
    columns = torch.stack((returns, returns - values)).double()
    sums = torch.cat((columns.sum(dim=1), columns.square().sum(dim=1)))
    count = sums.new_full((1,), float(len(values)))
    total = add_up(torch.cat((sums, count)))
    means = total[:-1] / total[-1].clamp(min=1)
    variance, left = (means[2:] - means[:2].square()).unbind()
    return torch.where(variance > 0, 1 - left / variance, 0.0)


def _mean(per_row: Tensor, weight: Tensor) -> Tensor:
    """Weighted mean; 0 where no row has a weight."""
    return (per_row * weight).sum() / weight.sum().clamp(min=1)
