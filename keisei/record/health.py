"""Is the run all right? Plain words for what the figures mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from keisei.record.console import Health, HealthLevel

#: Below this a policy hardly varies any more (nats); a random mover has about 3.8. A strong one needs little: a run on
#: a GPU gained 200 Elo while its entropy fell from 0.6 to 0.2 (docs/lab-book.md).
LOW_ENTROPY = 0.1
#: KL divergence at which one update changes the policy too much to trust its own data.
HIGH_KL = 0.1
#: The share of games cut off by the ply cap above which little is learned from results.
HIGH_TRUNCATION = 0.5
#: Mean |ratio - 1| in the first minibatch; more means that playing and learning compute different policies.
HIGH_FIRST_DEVIATION = 0.005
LOW_EXPLAINED_VARIANCE = -0.5


class _Rule(NamedTuple):
    """A figure, whether it is bad, what to say then, and whether learning has collapsed when it stays so."""

    metric: str
    is_bad: Callable[[float], bool]
    level: HealthLevel
    words: str
    means_collapse: bool = False


#: The worst first.
_RULES = (
    _Rule(
        "skipped_steps",
        lambda steps: steps > 0,
        "bad",
        "gradient steps were not finite: lower training.learning_rate",
    ),
    _Rule(
        "first_ratio_deviation",
        lambda deviation: deviation > HIGH_FIRST_DEVIATION,
        "bad",
        "the policy that learns is not the policy that played: try training.precision fp32",
    ),
    _Rule(
        "entropy",
        lambda entropy: entropy < LOW_ENTROPY,
        "warning",
        "the policy hardly explores any more: raise training.entropy_weight",
        means_collapse=True,
    ),
    _Rule(
        "approx_kl",
        lambda kl: kl > HIGH_KL,
        "warning",
        "updates change the policy a lot: lower training.learning_rate or training.epochs",
    ),
    _Rule(
        "truncated_share",
        lambda share: share > HIGH_TRUNCATION,
        "warning",
        "most games are cut off by the ply cap: raise env.max_plies or diversify env.starts",
        means_collapse=True,
    ),
    _Rule(
        "explained_variance",
        lambda variance: variance < LOW_EXPLAINED_VARIANCE,
        "warning",
        "values predict results worse than a constant: lower training.learning_rate",
        means_collapse=True,
    ),
)


def collapse_signs(metrics: Mapping[str, float]) -> dict[str, str]:
    """By figure that would show a collapse if it stayed so: what is bad about it in words, empty where all is well."""
    return {
        rule.metric: rule.words if rule.is_bad(metrics[rule.metric]) else ""
        for rule in _RULES
        if rule.means_collapse and rule.metric in metrics
    }


def judge(metrics: Mapping[str, float]) -> Health:
    """The worst thing that the figures of the last update show, and what to do about it."""
    for rule in _RULES:
        if rule.metric in metrics and rule.is_bad(metrics[rule.metric]):
            return Health(rule.level, rule.words)
    return Health("good", "learning normally")
