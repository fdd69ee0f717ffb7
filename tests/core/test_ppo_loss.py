"""The loss against row-by-row references, and the laws that masking, clipping and targets must obey."""

import dataclasses
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from network_samples import board_like_planes, network
from torch import Tensor

from keisei.core.networks import NetworkOutput
from keisei.core.ppo_loss import (
    AUXILIARY_SHARES,
    LossWeights,
    PpoBatch,
    clipped_surrogate,
    entropies,
    explained_variance,
    masked_log_probs,
    ppo_loss,
    wdl_loss,
    wdl_targets,
)
from keisei.core.rollout_rows import UNKNOWN

ROWS, ACTIONS = 24, 2187
WEIGHTS = LossWeights(clip_range=0.2, value=0.7, entropy=0.03, auxiliary=0.1, mate_in_one=0.25)


def random_batch(seed: int = 0, rows: int = ROWS) -> PpoBatch:
    generator = torch.Generator().manual_seed(seed)

    def uniform(low: float, high: float) -> Tensor:
        return low + (high - low) * torch.rand(rows, generator=generator)

    legal = torch.rand(rows, ACTIONS, generator=generator) < 0.02
    action = torch.randint(0, ACTIONS, (rows,), generator=generator)
    legal[torch.arange(rows), action] = True
    return PpoBatch(
        legal=legal,
        action=action,
        log_prob=uniform(-4.5, -3.0),
        advantage=torch.randn(rows, generator=generator),
        value=uniform(-1, 1),
        draw=uniform(0, 1) * (uniform(0, 1) < 0.3),
        forced=uniform(0, 1) < 0.25,
        material=uniform(-1, 1),
        moves_left=torch.where(uniform(0, 1) < 0.5, uniform(0, 2), torch.tensor(float(UNKNOWN))),
        reply=torch.where(uniform(0, 1) < 0.5, action, torch.tensor(UNKNOWN)),
    )


def random_output(seed: int = 1, rows: int = ROWS) -> NetworkOutput:
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(rows, *shape, generator=generator, requires_grad=True)

    auxiliary = {"material": normal(), "moves_left": normal(), "reply": normal(ACTIONS)}
    return NetworkOutput(normal(ACTIONS), normal(3), auxiliary)


def slow_softmax(logits: list[float]) -> list[float]:
    weights = [math.exp(logit) for logit in logits]
    return [weight / sum(weights) for weight in weights]


def slow_huber(difference: float) -> float:
    return difference**2 / 2 if abs(difference) < 1 else abs(difference) - 0.5


def slow_mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def slow_reference(output: NetworkOutput, batch: PpoBatch, weights: LossWeights) -> dict[str, float]:
    """All parts of the loss, row by row, with Python's arithmetic and the formulae of the documentation."""
    columns: dict[str, list[float]] = {name: [] for name in ("policy", "entropy", "kl", "clip", "deviation")}
    mate, value, material, moves_left, reply = ([] for _ in range(5))
    for row in range(len(batch.action)):
        legal = batch.legal[row].nonzero().squeeze(1).tolist()
        probabilities = slow_softmax([output.policy_logits[row, index].item() for index in legal])
        chosen = probabilities[legal.index(int(batch.action[row]))]
        if batch.forced[row]:
            mate.append(-math.log(chosen))
        else:
            ratio = chosen / math.exp(batch.log_prob[row].item())
            clipped = min(max(ratio, 1 - weights.clip_range), 1 + weights.clip_range)
            advantage = batch.advantage[row].item()
            columns["policy"].append(-min(ratio * advantage, clipped * advantage))
            columns["entropy"].append(-sum(p * math.log(p) for p in probabilities))
            columns["kl"].append(ratio - 1 - math.log(ratio))
            columns["clip"].append(float(ratio != clipped))
            columns["deviation"].append(abs(ratio - 1))
        expected_value, draw = batch.value[row].item(), batch.draw[row].item()
        draw = min(draw, 1 - abs(expected_value))
        target = ((1 - draw + expected_value) / 2, draw, (1 - draw - expected_value) / 2)
        outcome = slow_softmax(output.value_logits[row].tolist())
        value.append(-sum(t * math.log(p) for t, p in zip(target, outcome, strict=True)))
        material.append(slow_huber(output.auxiliary["material"][row].item() - batch.material[row].item()))
        if batch.moves_left[row] != UNKNOWN:
            moves_left.append(
                slow_huber(output.auxiliary["moves_left"][row].item() - batch.moves_left[row].item())
            )
        if batch.reply[row] != UNKNOWN:
            reply.append(
                -math.log(slow_softmax(output.auxiliary["reply"][row].tolist())[int(batch.reply[row])])
            )
    auxiliary = {
        "material": slow_mean(material),
        "moves_left": slow_mean(moves_left),
        "reply": slow_mean(reply),
    }
    rows = len(batch.action)
    loss = (
        (sum(columns["policy"]) - weights.entropy * sum(columns["entropy"])) / rows
        + weights.mate_in_one * sum(mate) / rows
        + weights.value * slow_mean(value)
        + weights.auxiliary * sum(AUXILIARY_SHARES[name] * part for name, part in auxiliary.items())
    )
    return {
        "loss": loss,
        "policy_loss": slow_mean(columns["policy"]),
        "value_loss": slow_mean(value),
        "entropy": slow_mean(columns["entropy"]),
        "mate_in_one_loss": slow_mean(mate),
        **{f"{name}_loss": part for name, part in auxiliary.items()},
        "approx_kl": slow_mean(columns["kl"]),
        "clip_fraction": slow_mean(columns["clip"]),
        "ratio_deviation": slow_mean(columns["deviation"]),
    }


@pytest.mark.parametrize("seed", range(5))
def test_matches_the_row_by_row_reference(seed: int) -> None:
    output, batch = random_output(seed), random_batch(seed + 100)
    # Near the policy that is learned, so that the clip binds on some rows and not on others.
    current = masked_log_probs(output.policy_logits, batch.legal).gather(1, batch.action[:, None]).squeeze(1)
    shift = torch.rand(ROWS, generator=torch.Generator().manual_seed(seed)) - 0.5
    batch = dataclasses.replace(batch, log_prob=current.detach() + shift)
    loss, metrics = ppo_loss(output, batch, WEIGHTS)
    reference = slow_reference(output, batch, WEIGHTS)
    assert {name: metric.item() for name, metric in metrics.items()} == pytest.approx(
        reference, rel=1e-4, abs=1e-5
    )
    assert loss.item() == pytest.approx(reference["loss"], rel=1e-4)
    assert 0 < reference["clip_fraction"] < 1


def test_metrics_carry_no_graph() -> None:
    loss, metrics = ppo_loss(random_output(), random_batch(), WEIGHTS)
    assert loss.requires_grad
    assert not any(metric.requires_grad for metric in metrics.values())


@given(st.integers(0, 2**32 - 1), st.floats(0.1, 100.0))
@settings(max_examples=30)
def test_probabilities_are_over_legal_actions_only(seed: int, scale: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = scale * torch.randn(4, 50, generator=generator)
    legal = torch.rand(4, 50, generator=generator) < 0.3
    legal[:, 0] = True
    probabilities = masked_log_probs(logits, legal).exp()
    torch.testing.assert_close(probabilities.sum(1), torch.ones(4))
    assert not probabilities[~legal].any()
    for row in range(4):
        expected = logits[row, legal[row]].softmax(0)
        torch.testing.assert_close(probabilities[row, legal[row]], expected)


def test_illegal_logits_have_neither_influence_nor_gradient() -> None:
    legal = torch.tensor([[True, False, True, False]])
    logits = torch.tensor([[1.0, 90.0, 2.0, -90.0]], requires_grad=True)
    log_probs = masked_log_probs(logits, legal)
    (entropies(log_probs) + log_probs[:, 0]).sum().backward()
    torch.testing.assert_close(log_probs[:, [0, 2]], torch.tensor([[1.0, 2.0]]).log_softmax(1))
    assert logits.grad is not None and logits.grad.isfinite().all()
    assert logits.grad[0, 1] == logits.grad[0, 3] == 0
    assert logits.grad[0, 0] != 0


def test_a_single_legal_action_has_no_entropy_and_probability_1() -> None:
    legal = torch.zeros(1, ACTIONS, dtype=torch.bool)
    legal[0, 5] = True
    log_probs = masked_log_probs(torch.randn(1, ACTIONS, generator=torch.Generator().manual_seed(0)), legal)
    assert log_probs[0, 5] == 0
    assert entropies(log_probs).item() == 0


def test_equal_logits_have_the_entropy_of_their_number() -> None:
    legal = torch.arange(ACTIONS)[None] < torch.tensor([[30], [593]])
    entropy = entropies(masked_log_probs(torch.zeros(2, ACTIONS), legal))
    torch.testing.assert_close(entropy, torch.tensor([30.0, 593.0]).log())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_masking_and_softmax_are_float32_whatever_the_logits_are(dtype: torch.dtype) -> None:
    logits = torch.randn(3, ACTIONS, generator=torch.Generator().manual_seed(0)).to(dtype)
    legal = torch.ones(3, ACTIONS, dtype=torch.bool)
    log_probs = masked_log_probs(logits, legal)
    assert log_probs.dtype == torch.float32
    torch.testing.assert_close(log_probs, logits.float().log_softmax(1))


@pytest.mark.parametrize(
    ("ratio", "advantage", "pulled"),
    [
        (1.5, 1.0, False),
        (1.5, -1.0, True),
        (0.5, 1.0, True),
        (0.5, -1.0, False),
        (1.1, 1.0, True),
        (0.9, -1.0, True),
    ],
)
def test_clipping_stops_the_pull_only_where_it_would_go_too_far(
    ratio: float, advantage: float, pulled: bool
) -> None:
    log_ratio = torch.tensor([math.log(ratio)], requires_grad=True)
    clipped_surrogate(log_ratio, torch.tensor([advantage]), 0.2).sum().backward()
    assert log_ratio.grad is not None
    assert log_ratio.grad.item() == pytest.approx(ratio * advantage if pulled else 0.0)


def test_on_the_first_pass_the_ratio_is_1() -> None:
    """The behaviour log-probabilities of the same network: no divergence, nothing clipped."""
    model, planes = network(), board_like_planes(ROWS)
    batch = random_batch()
    with torch.inference_mode():
        played = masked_log_probs(model.eval()(planes, with_auxiliary=False).policy_logits, batch.legal)
        log_prob = played.gather(1, batch.action[:, None]).squeeze(1)
    batch = dataclasses.replace(batch, log_prob=log_prob.clone())
    _, metrics = ppo_loss(model.train()(planes), batch, WEIGHTS)
    assert metrics["ratio_deviation"] == metrics["approx_kl"] == metrics["clip_fraction"] == 0


def with_all_forced(batch: PpoBatch, forced: bool) -> PpoBatch:
    return dataclasses.replace(batch, forced=torch.full((len(batch.action),), forced))


def test_a_forced_row_is_imitated_and_not_reinforced() -> None:
    output, batch = random_output(), with_all_forced(random_batch(), forced=True)
    weights = dataclasses.replace(WEIGHTS, value=0.0, auxiliary=0.0)
    loss, metrics = ppo_loss(output, batch, weights)
    changed = dataclasses.replace(batch, advantage=-5 * batch.advantage, log_prob=batch.log_prob - 1)
    assert ppo_loss(output, changed, weights)[0] == loss
    expected = torch.nn.functional.cross_entropy(
        output.policy_logits.masked_fill(~batch.legal, -torch.inf), batch.action
    )
    torch.testing.assert_close(loss, WEIGHTS.mate_in_one * expected)
    assert metrics["policy_loss"] == metrics["entropy"] == metrics["approx_kl"] == 0


def test_without_forced_rows_there_is_no_imitation() -> None:
    output, batch = random_output(), with_all_forced(random_batch(), forced=False)
    loss, metrics = ppo_loss(output, batch, WEIGHTS)
    assert metrics["mate_in_one_loss"] == 0
    assert ppo_loss(output, batch, dataclasses.replace(WEIGHTS, mate_in_one=9.0))[0] == loss


def test_a_forced_row_the_policy_thought_impossible_does_no_harm() -> None:
    """exp(300) overflows; the ratio of a forced row must not reach the loss even as infinity times 0."""
    output = random_output()
    batch = dataclasses.replace(
        with_all_forced(random_batch(), forced=True), log_prob=torch.full((ROWS,), -300.0)
    )
    loss, metrics = ppo_loss(output, batch, WEIGHTS)
    loss.backward()
    assert loss.isfinite() and all(metric.isfinite() for metric in metrics.values())
    assert output.policy_logits.grad is not None and output.policy_logits.grad.isfinite().all()


returns_and_draws = st.tuples(st.floats(-1, 1), st.floats(0, 1))


@given(st.lists(returns_and_draws, min_size=1, max_size=20))
def test_wdl_targets_are_probabilities_whose_difference_is_the_return(
    rows: list[tuple[float, float]],
) -> None:
    returns, draws = torch.tensor(rows).unbind(1)
    targets = wdl_targets(returns, draws)
    assert targets.min() >= 0
    torch.testing.assert_close(targets.sum(1), torch.ones(len(rows)))
    torch.testing.assert_close(targets[:, 0] - targets[:, 2], returns, rtol=0, atol=1e-6)
    assert (targets[:, 1] <= draws).all()


@pytest.mark.parametrize(
    ("value", "draw", "expected"),
    [
        (1.0, 0.0, (1, 0, 0)),
        (-1.0, 0.0, (0, 0, 1)),
        (0.0, 1.0, (0, 1, 0)),
        (0.0, 0.0, (0.5, 0, 0.5)),
        (0.5, 0.0, (0.75, 0, 0.25)),
        (0.5, 1.0, (0.5, 0.5, 0)),
        (1.0001, 0.0, (1, 0, 0)),
    ],
)
def test_wdl_targets_of_known_outcomes(value: float, draw: float, expected: tuple[float, ...]) -> None:
    targets = wdl_targets(torch.tensor([value]), torch.tensor([draw]))
    torch.testing.assert_close(targets, torch.tensor([expected], dtype=torch.float32))


def minimiser(targets: Tensor) -> NetworkOutput:
    """The outcome logits ``[G, 3]`` that minimise the loss over targets ``[G, S, 3]`` of G positions."""
    logits = torch.zeros(len(targets), 3, requires_grad=True)
    samples = targets.shape[1]
    optimizer = torch.optim.LBFGS([logits], max_iter=500, line_search_fn="strong_wolfe", tolerance_grad=1e-9)

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = wdl_loss(logits.repeat_interleave(samples, 0), targets.flatten(0, 1))
        loss.backward()
        return loss

    optimizer.step(closure)
    return NetworkOutput(torch.zeros(len(targets), 1), logits.detach(), {})


def test_minimising_the_value_loss_gives_the_return() -> None:
    returns = torch.linspace(-0.95, 0.95, 21)
    for draw in (0.0, 0.04, 0.5, 1.0):
        targets = wdl_targets(returns, torch.full_like(returns, draw))
        torch.testing.assert_close(minimiser(targets[:, None]).value, returns, rtol=0, atol=2e-3)


def test_minimising_over_noisy_returns_gives_their_mean() -> None:
    """Whatever mix of returns and draw masses one position meets."""
    generator = torch.Generator().manual_seed(0)
    returns = 2 * torch.rand(6, 40, generator=generator) - 1
    draws = torch.rand(6, 40, generator=generator)
    targets = wdl_targets(returns.flatten(), draws.flatten()).reshape(6, 40, 3)
    torch.testing.assert_close(minimiser(targets).value, returns.mean(1), rtol=0, atol=2e-3)


def test_a_network_without_auxiliary_heads_has_no_auxiliary_loss() -> None:
    output, batch = random_output()._replace(auxiliary={}), random_batch()
    loss, metrics = ppo_loss(output, batch, WEIGHTS)
    assert not {"material_loss", "moves_left_loss", "reply_loss"} & set(metrics)
    assert ppo_loss(output, batch, dataclasses.replace(WEIGHTS, auxiliary=9.0))[0] == loss


def test_rows_with_unknown_targets_teach_the_auxiliary_heads_nothing() -> None:
    output, batch = random_output(), random_batch()
    ppo_loss(output, batch, WEIGHTS)[0].backward()
    for name, known in (("moves_left", batch.moves_left != UNKNOWN), ("reply", batch.reply != UNKNOWN)):
        gradient = output.auxiliary[name].grad
        assert gradient is not None
        touched = gradient.reshape(ROWS, -1).abs().sum(1) > 0
        assert touched.tolist() == known.tolist(), name


def test_with_no_known_target_at_all_the_loss_is_0() -> None:
    batch = random_batch()
    unknown = dataclasses.replace(
        batch,
        moves_left=torch.full_like(batch.moves_left, UNKNOWN),
        reply=torch.full_like(batch.reply, UNKNOWN),
    )
    loss, metrics = ppo_loss(random_output(), unknown, WEIGHTS)
    assert metrics["moves_left_loss"] == metrics["reply_loss"] == 0
    assert loss.isfinite()


def test_explained_variance_of_perfect_useless_and_bad_values() -> None:
    returns = torch.tensor([1.0, -1.0, 0.5, -0.5])
    assert explained_variance(returns, returns) == 1
    assert explained_variance(torch.full((4,), 0.3), returns).item() == pytest.approx(0.0)
    assert explained_variance(-returns, returns).item() == pytest.approx(-3.0)
    assert explained_variance(returns / 2, returns).item() == pytest.approx(0.75)


@pytest.mark.parametrize("values", [(0.1, 0.2), (0.5, 0.5)])
def test_explained_variance_of_equal_returns_is_0(values: tuple[float, float]) -> None:
    assert explained_variance(torch.tensor(values), torch.tensor([0.5, 0.5])) == 0


def test_learning_raises_the_probability_of_good_actions_and_fits_the_values() -> None:
    model, planes, batch = (
        network(seed=3),
        board_like_planes(ROWS),
        with_all_forced(random_batch(), forced=False),
    )
    with torch.no_grad():
        before = masked_log_probs(model(planes).policy_logits, batch.legal).gather(1, batch.action[:, None])
    batch = dataclasses.replace(batch, log_prob=before.squeeze(1))
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    losses = []
    for _ in range(30):
        loss, metrics = ppo_loss(model(planes), batch, WEIGHTS)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(metrics["value_loss"].item())
    with torch.no_grad():
        after = masked_log_probs(model(planes).policy_logits, batch.legal).gather(1, batch.action[:, None])
    change = (after - before).squeeze(1)
    assert change[batch.advantage > 0.3].mean() > 0 > change[batch.advantage < -0.3].mean()
    assert losses[-1] < losses[0]
