"""The learner: what an update changes, what it reports, and what it refuses."""

import copy
import math

import numpy as np
import pytest
import torch
from agents import GAMES, MINIBATCH, MINIBATCHES, PLIES, agent, are_equal, played_buffer, positions, weights
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.config_loader import load_config
from keisei.core.devices import OutOfMemory
from keisei.core.experience_buffer import ExperienceBuffer
from keisei.core.ppo_agent import MAX_SKIPPED_STEPS, PPOAgent
from keisei.errors import NonFiniteUpdateError
from keisei.shogi.positions import legal_masks


@pytest.fixture(scope="module")
def buffer() -> ExperienceBuffer:
    return played_buffer()


@pytest.fixture
def poisoned() -> ExperienceBuffer:
    """A buffer from which nothing finite can be computed."""
    buffer = played_buffer()
    buffer.targets.advantage[:] = math.nan
    return buffer


def dtypes_seen(player: PPOAgent, action: str, buffer: ExperienceBuffer) -> set[torch.dtype]:
    """The dtypes that the network's convolutions compute in, by a hook inside it."""
    seen: set[torch.dtype] = set()
    for module in player.network.modules():
        if isinstance(module, torch.nn.Conv2d):
            module.register_forward_hook(lambda _module, _inputs, output: seen.add(output.dtype))
    if action == "learn":
        player.learn(buffer, 0.0)
    else:
        player.inference.evaluate(buffer.rows.record[:4])
    return seen


# ---- learning


def test_learning_lowers_the_loss_on_a_fixed_buffer(buffer: ExperienceBuffer) -> None:
    player = agent(learning_rate=1e-3, learning_rate_schedule="constant")
    figures = [player.learn(buffer, 0.0) for _ in range(12)]
    for name in ("loss", "policy_loss", "value_loss", "reply_loss"):
        assert figures[-1][name] < figures[0][name], name
    assert figures[-1]["value_loss"] < 0.8 * figures[0]["value_loss"]


def test_every_figure_of_the_issue_is_reported(buffer: ExperienceBuffer) -> None:
    figures = agent().learn(buffer, 0.0)
    expected = {
        "loss",
        "policy_loss",
        "value_loss",
        "entropy",
        "approx_kl",
        "clip_fraction",
        "explained_variance",
        "gradient_norm",
        "first_ratio_deviation",
        "learning_rate",
        "skipped_steps",
    }
    assert expected <= figures.keys()
    assert all(math.isfinite(value) for value in figures.values())
    assert figures["gradient_steps"] == MINIBATCHES


def test_explained_variance_is_that_of_the_values_that_played(buffer: ExperienceBuffer) -> None:
    rows, targets = buffer.rows, buffer.targets
    left = np.var(targets.value - rows.value) / np.var(targets.value)
    assert agent().learn(buffer, 0.0)["explained_variance"] == pytest.approx(1 - left, abs=1e-4)


@pytest.mark.parametrize("limit", [1e-3, 1e3])
def test_gradients_are_scaled_down_to_the_largest_norm(buffer: ExperienceBuffer, limit: float) -> None:
    player = agent(max_grad_norm=limit)
    applied: list[float] = []

    def note(optimizer: torch.optim.Optimizer, _args: object, _kwargs: object) -> None:
        gradients = [parameter.grad for parameter in optimizer.param_groups[0]["params"]]
        applied.append(
            float(torch.stack([g.square().sum() for g in gradients if g is not None]).sum().sqrt())
        )

    player.optimizer.register_step_pre_hook(note)
    reported = player.learn(buffer, 0.0)["gradient_norm"]
    assert max(applied) <= limit * (1 + 1e-4)
    if limit < 1:
        assert min(applied) == pytest.approx(limit, rel=1e-3), "every gradient was larger and was cut"
        assert reported > limit, "what is reported is the norm before"
    else:
        assert np.mean(applied) == pytest.approx(reported, rel=1e-4), "nothing was cut"


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("constant", 1e-3), ("linear", 7.75e-4), ("step", 7e-4), ("exponential", 10**-3.25)],
)
def test_schedules_reach_the_optimiser_and_the_loss(
    buffer: ExperienceBuffer, kind: str, expected: float
) -> None:
    player = agent(
        learning_rate=1e-3, learning_rate_end=1e-4, learning_rate_schedule=kind, entropy_weight_schedule=kind
    )
    figures = player.learn(buffer, 0.25 if kind != "step" else 0.3)
    assert player.optimizer.param_groups[0]["lr"] == pytest.approx(expected)
    assert figures["learning_rate"] == pytest.approx(expected)
    assert figures["entropy_weight"] == player.loss_weights(0.25).entropy


def test_a_learning_rate_of_zero_changes_nothing(buffer: ExperienceBuffer) -> None:
    player = agent(learning_rate_end=0)
    before = weights(player)
    player.learn(buffer, 1.0)
    assert are_equal(before, weights(player))


def test_the_entropy_weight_keeps_the_policy_varied(buffer: ExperienceBuffer) -> None:
    entropies = []
    for weight in (0.0, 1.0):
        player = agent(entropy_weight=weight, entropy_weight_schedule="constant", learning_rate=3e-3)
        entropies.append([player.learn(buffer, 0.0)["entropy"] for _ in range(6)][-1])
    assert entropies[0] < entropies[1]


def test_an_update_stops_when_the_policy_has_moved_too_far(buffer: ExperienceBuffer) -> None:
    # The buffer was played by another network: the policy is far away from the first minibatch on.
    stopped = agent(target_kl=1e-6, epochs=3).learn(buffer, 0.0)
    assert stopped["stopped_early"] == 1
    assert stopped["gradient_steps"] == 1
    free = agent(target_kl=0, epochs=3).learn(buffer, 0.0)
    assert free["stopped_early"] == 0
    assert free["gradient_steps"] == 3 * MINIBATCHES


def test_a_small_divergence_does_not_stop_an_update() -> None:
    player = agent(target_kl=0.5, epochs=2, learning_rate=1e-5)
    figures = player.learn(played_buffer(player), 0.0)
    assert figures["stopped_early"] == 0
    assert 0 <= figures["approx_kl"] < 0.5


def test_a_stop_is_heard_after_the_gradient_step_in_progress(buffer: ExperienceBuffer) -> None:
    figures = agent(epochs=3).learn(buffer, 0.0, should_stop=lambda: True)
    assert figures["gradient_steps"] == 1


def test_an_opponents_rows_are_never_learned_from(buffer: ExperienceBuffer) -> None:
    """What the opponent's rows say changes nothing, down to the last bit."""
    learned = []
    for noise in (0.0, 1.0):
        own = played_buffer()
        own.rows.learner[: len(own) // 2] = False
        own.targets.value[: len(own) // 2] += noise
        own.targets.advantage[: len(own) // 2] += noise
        own.rows.action[: len(own) // 2] = int(noise)
        player = agent()
        figures = player.learn(own, 0.0)
        assert figures["gradient_steps"] == GAMES * PLIES // 2 // MINIBATCH
        learned.append(weights(player))
    assert are_equal(*learned)


def test_an_update_without_rows_of_the_learner_takes_no_step() -> None:
    buffer = played_buffer()
    buffer.rows.learner[:] = False
    player = agent()
    before = weights(player)
    figures = player.learn(buffer, 0.0)
    assert figures["gradient_steps"] == 0
    assert math.isnan(figures["first_ratio_deviation"])
    assert are_equal(before, weights(player))


def test_a_full_device_is_known_by_its_class(buffer: ExperienceBuffer) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED")

    player = agent()
    player.network.register_forward_pre_hook(refuse)
    with pytest.raises(OutOfMemory, match="ALLOC_FAILED"):
        player.learn(buffer, 0.0)


# ---- number types


@pytest.mark.parametrize("action", ["learn", "play"])
@pytest.mark.parametrize(
    ("precision", "dtype"), [("fp32", torch.float32), ("bf16", torch.bfloat16), ("fp16", torch.float16)]
)
def test_b4_the_configured_number_type_is_the_one_computed_in(
    buffer: ExperienceBuffer, precision: str, dtype: torch.dtype, action: str
) -> None:
    player = agent(precision=precision)
    assert dtypes_seen(player, action, buffer) == {dtype}
    assert {parameter.dtype for parameter in player.network.parameters()} == {torch.float32}


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
def test_b4_gradients_are_scaled_for_fp16_alone(buffer: ExperienceBuffer, precision: str) -> None:
    player = agent(precision=precision)
    assert player.scaler.is_enabled() == (precision == "fp16")
    before = weights(player)
    # The scaler begins too high on purpose and halves its scale at each infinite gradient until none is left.
    figures = [player.learn(buffer, 0.0) for _ in range(4)]
    assert not are_equal(before, weights(player))
    assert all(update["skipped_steps"] == 0 for update in figures)
    assert all(torch.isfinite(tensor).all() for tensor in weights(player).values())


def test_b4_bf16_plays_and_learns_in_the_same_numbers() -> None:
    player = agent(precision="bf16")
    assert player.learn(played_buffer(player), 0.0)["first_ratio_deviation"] <= 0.005


def test_the_scale_of_fp16_is_saved_and_restored(buffer: ExperienceBuffer) -> None:
    player = agent(precision="fp16")
    player.learn(buffer, 0.0)
    state = player.state()
    state["scaler"]["scale"] = 128.0
    other = agent(precision="fp16")
    other.load_state(state)
    assert other.state()["scaler"]["scale"] == 128.0


# ---- numbers that are not finite


@pytest.mark.parametrize("precision", ["fp32", "fp16"])
def test_a_step_that_is_not_finite_is_skipped_and_counted(precision: str) -> None:
    buffer = played_buffer()
    buffer.targets.value[7] = math.nan
    player = agent(precision=precision, epochs=2)
    figures = player.learn(buffer, 0.0)
    assert figures["skipped_steps"] == 2, "the row is in one minibatch of each epoch"
    assert figures["gradient_steps"] == 2 * (MINIBATCHES - 1)
    assert all(torch.isfinite(tensor).all() for tensor in weights(player).values())
    assert math.isfinite(figures["loss"])


def test_a_skipped_step_leaves_no_trace(poisoned: ExperienceBuffer, buffer: ExperienceBuffer) -> None:
    """Neither in the weights, nor in the averaged ones, nor in the optimiser."""
    player = agent(minibatch_size=GAMES * PLIES, weight_averaging=0.5)
    assert player.averaged is not None
    player.learn(buffer, 0.0)
    before, averaged = weights(player), {k: v.clone() for k, v in player.averaged.state_dict().items()}
    assert not are_equal(before, averaged), "there is something to move"
    moments = copy.deepcopy(player.optimizer.state_dict()["state"])
    figures = player.learn(poisoned, 0.0)
    assert figures["skipped_steps"] == 1
    assert figures["gradient_steps"] == 0
    assert are_equal(before, weights(player))
    assert are_equal(averaged, player.averaged.state_dict())
    for number, state in player.optimizer.state_dict()["state"].items():
        assert are_equal(moments[number], state)


def test_a_step_that_the_scaler_of_fp16_skips_moves_no_average(buffer: ExperienceBuffer) -> None:
    player = agent(minibatch_size=GAMES * PLIES, weight_averaging=0.5, precision="fp16")
    assert player.averaged is not None
    while are_equal(weights(player), player.averaged.state_dict()):
        player.learn(buffer, 0.0)
    averaged = {name: tensor.clone() for name, tensor in player.averaged.state_dict().items()}
    state = player.state()
    state["scaler"]["scale"] = 2.0**40
    player.load_state(state)
    before = weights(player)
    player.learn(buffer, 0.0)
    assert are_equal(before, weights(player)), "its scale was too high"
    assert are_equal(averaged, player.averaged.state_dict())


@pytest.mark.parametrize("precision", ["fp32", "fp16"])
def test_three_steps_in_a_row_that_are_not_finite_stop_with_their_rows(
    poisoned: ExperienceBuffer, precision: str
) -> None:
    player = agent(precision=precision, learning_rate=2e-3)
    before = weights(player)
    with pytest.raises(NonFiniteUpdateError, match=rf"3 gradient steps.*0\.002.*'{precision}'") as caught:
        player.learn(poisoned, 0.0)
    bundle = caught.value.bundle
    assert len(bundle["action"]) == MINIBATCH
    assert np.isnan(bundle["target_advantage"]).all(), "the offender is in the bundle"
    assert {"record", "log_prob", "target_value"} <= bundle.keys()
    assert are_equal(before, weights(player))


def test_steps_in_a_row_are_counted_from_one_update_to_the_next(poisoned: ExperienceBuffer) -> None:
    player = agent(minibatch_size=GAMES * PLIES)
    for _ in range(MAX_SKIPPED_STEPS - 1):
        assert player.learn(poisoned, 0.0)["skipped_steps"] == 1
    with pytest.raises(NonFiniteUpdateError):
        player.learn(poisoned, 0.0)


def test_a_finite_step_in_between_begins_the_count_anew(
    poisoned: ExperienceBuffer, buffer: ExperienceBuffer
) -> None:
    player = agent(minibatch_size=GAMES * PLIES)
    for _ in range(MAX_SKIPPED_STEPS):
        player.learn(poisoned, 0.0)
        assert player.learn(buffer, 0.0)["skipped_steps"] == 0


# ---- averaged weights


def test_averaged_weights_follow_the_formula_step_by_step(buffer: ExperienceBuffer) -> None:
    decay = 0.9
    player = agent(weight_averaging=decay)
    expected = weights(player)

    def note(*_: object) -> None:
        for name, tensor in player.network.state_dict().items():
            expected[name] = decay * expected[name] + (1 - decay) * tensor

    player.optimizer.register_step_post_hook(note)
    player.learn(buffer, 0.0)
    averaged = player.graded_network()
    assert averaged is not player.network
    for name, tensor in averaged.state_dict().items():
        assert torch.allclose(tensor, expected[name], atol=1e-7), name
        assert not torch.equal(tensor, player.network.state_dict()[name]), name


def test_without_averaging_the_network_itself_is_graded() -> None:
    player = agent(weight_averaging=0)
    assert player.graded_network() is player.network


# ---- playing


@settings(max_examples=15)
@given(seed=st.integers(0, 2**31), drawn=st.booleans(), actions=st.sampled_from(["2187", "13527"]))
def test_selected_actions_are_always_legal(seed: int, drawn: bool, actions: str) -> None:
    config = load_config(
        None, {"model.architecture": "cnn", "model.blocks": 1, "model.channels": 8, "env.actions": actions}
    ).config
    player = PPOAgent(config, torch.device("cpu"))
    records = positions(6, seed)
    generator = torch.Generator().manual_seed(seed) if drawn else None
    chosen = player.select_action(records, generator=generator)
    assert legal_masks(records, actions)[np.arange(6), chosen].all()


def test_the_likeliest_action_is_chosen_without_a_generator() -> None:
    player = agent()
    records = positions(8)
    likeliest = player.inference.evaluate(records).log_probs.argmax(dim=1).numpy()
    assert np.array_equal(player.select_action(records), likeliest)
    drawn = [
        player.select_action(records, generator=torch.Generator().manual_seed(seed)) for seed in range(3)
    ]
    assert any(not np.array_equal(drawn[0], other) for other in drawn[1:])


# ---- seeds and state


def test_the_same_seed_gives_the_same_weights(buffer: ExperienceBuffer) -> None:
    learned = []
    for seed in (1, 1, 2):
        player = agent(seed=seed, epochs=2)
        player.learn(buffer, 0.0)
        learned.append(weights(player))
    assert are_equal(learned[0], learned[1])
    assert not are_equal(learned[0], learned[2])


def test_a_restored_learner_goes_on_exactly(buffer: ExperienceBuffer) -> None:
    player, other = agent(), agent(seed=99)
    player.learn(buffer, 0.0)
    other.network.load_state_dict(weights(player))
    other.load_state(copy.deepcopy(player.state()))
    for name, generator in player.generators().items():
        other.generators()[name].bit_generator.state = generator.bit_generator.state
    player.learn(buffer, 0.5)
    other.learn(buffer, 0.5)
    assert are_equal(weights(player), weights(other))
