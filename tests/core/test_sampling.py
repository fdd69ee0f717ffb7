"""Drawn actions: right frequencies, never illegal, decided by the generator."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from keisei.core.ppo_loss import masked_log_probs
from keisei.core.sampling import draw_actions

ACTIONS = 2187


def policy(
    seed: int, rows: int, legal_share: float = 0.02, scale: float = 1.0
) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    legal = torch.rand(rows, ACTIONS, generator=generator) < legal_share
    legal[:, seed % ACTIONS] = True
    return masked_log_probs(scale * torch.randn(rows, ACTIONS, generator=generator), legal), legal


@given(st.integers(0, 2**32 - 1), st.floats(0.0, 0.3), st.floats(0.0, 50.0))
def test_never_draws_an_illegal_action(seed: int, legal_share: float, scale: float) -> None:
    log_probs, legal = policy(seed, 16, legal_share, scale)
    actions = draw_actions(log_probs, torch.Generator().manual_seed(seed))
    assert legal[torch.arange(16), actions].all()


@pytest.mark.parametrize("last_is_legal", [True, False])
def test_the_largest_random_number_still_finds_a_legal_action(
    monkeypatch: pytest.MonkeyPatch, last_is_legal: bool
) -> None:
    """A generator draws from 0 up to 1; products with sums a little off 1 may round up to the sum."""
    log_probs, legal = policy(3, 64)
    legal[:, -1] = last_is_legal
    log_probs = masked_log_probs(log_probs, legal)
    monkeypatch.setattr(torch, "rand", lambda shape, **_: torch.ones(shape))
    actions = draw_actions(log_probs)
    assert legal[torch.arange(64), actions].all()
    monkeypatch.setattr(torch, "rand", lambda shape, **_: torch.zeros(shape))
    assert legal[torch.arange(64), draw_actions(log_probs)].all()


def test_frequencies_are_the_probabilities() -> None:
    log_probs, legal = policy(7, 1)
    draws = 40_000
    actions = draw_actions(log_probs.expand(draws, -1), torch.Generator().manual_seed(0))
    counts = torch.bincount(actions, minlength=ACTIONS)[legal[0]].double()
    expected = draws * log_probs.double().exp()[0, legal[0]]
    chi_square = ((counts - expected) ** 2 / expected).sum().item()
    freedom = int(legal.sum()) - 1
    assert abs(chi_square - freedom) < 4 * (2 * freedom) ** 0.5


def test_the_generator_decides() -> None:
    log_probs, _ = policy(1, 200)
    one, same, other = (draw_actions(log_probs, torch.Generator().manual_seed(seed)) for seed in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)
