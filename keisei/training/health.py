"""Is the run all right? Plain words for what the figures mean."""

from __future__ import annotations

from collections.abc import Mapping

from keisei.record.console import Health

#: Below this a policy hardly varies any more (nats); a random mover has about 3.8.
LOW_ENTROPY = 0.3
#: KL divergence at which one update changes the policy too much to trust its own data.
HIGH_KL = 0.1
#: The share of games cut off by the ply cap above which little is learned from results.
HIGH_TRUNCATION = 0.5
#: Mean |ratio - 1| in the first minibatch; more means that playing and learning compute different policies.
HIGH_FIRST_DEVIATION = 0.005
LOW_EXPLAINED_VARIANCE = -0.5


def judge(metrics: Mapping[str, float]) -> Health:
    """The worst thing that the figures of the last update show, and what to do about it."""
    if metrics.get("skipped_steps", 0) > 0:
        return Health(
            "bad",
            f"{metrics['skipped_steps']:.0f} gradient steps were not finite: lower training.learning_rate",
        )
    if metrics.get("first_ratio_deviation", 0) > HIGH_FIRST_DEVIATION:
        return Health(
            "bad", "the policy that learns is not the policy that played: try training.precision fp32"
        )
    if metrics.get("entropy", LOW_ENTROPY) < LOW_ENTROPY:
        return Health("warning", "the policy hardly explores any more: raise training.entropy_weight")
    if metrics.get("approx_kl", 0) > HIGH_KL:
        return Health("warning", "updates change the policy a lot: lower training.learning_rate or epochs")
    if metrics.get("truncated_share", 0) > HIGH_TRUNCATION:
        return Health(
            "warning", "most games are cut off by the ply cap: raise env.max_plies or diversify starts"
        )
    if metrics.get("explained_variance", 0) < LOW_EXPLAINED_VARIANCE:
        return Health("warning", "values predict results worse than a constant: lower the learning rate")
    return Health("good", "learning normally")
