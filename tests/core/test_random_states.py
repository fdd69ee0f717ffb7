"""Tests of keisei.core.random_states."""

import json
import random
from typing import Any

import numpy as np
import pytest
import torch

from keisei.core.random_states import Generator, capture_random_states, restore_random_states
from keisei.core.state_tensors import flatten_state, restore_state
from keisei.errors import CheckpointError


def make_generators() -> dict[str, Generator]:
    return {
        "pcg64": np.random.default_rng(1),
        "philox": np.random.Generator(np.random.Philox(2)),
        "mt19937": np.random.Generator(np.random.MT19937(3)),
        "torch": torch.Generator().manual_seed(4),
        "python": random.Random(5),
    }


def draw(generators: dict[str, Generator]) -> list[Any]:
    """A few numbers from every generator; the Gaussians leave half a pair behind in some of them."""
    drawn: list[Any] = [torch.randn(3).tolist(), np.random.standard_normal(3).tolist(), random.gauss(0, 1)]
    for generator in generators.values():
        if isinstance(generator, torch.Generator):
            drawn.append(torch.randn(3, generator=generator).tolist())
        elif isinstance(generator, random.Random):
            drawn.append(generator.gauss(0, 1))
        else:
            drawn.append(
                [
                    generator.standard_normal(3).tolist(),
                    generator.integers(0, 100, 3, dtype=np.int32).tolist(),
                ]
            )
    return drawn


def test_every_generator_goes_on_where_it_was() -> None:
    generators = make_generators()
    draw(generators)
    tensors, skeleton = flatten_state(capture_random_states(generators))
    skeleton = json.loads(json.dumps(skeleton, allow_nan=False))
    expected = [draw(generators) for _ in range(3)]

    torch.manual_seed(99)
    np.random.seed(99)
    random.seed(99)
    fresh = make_generators()
    restore_random_states(restore_state(tensors, skeleton), fresh)
    assert [draw(fresh) for _ in range(3)] == expected


def test_capturing_draws_nothing() -> None:
    generators = make_generators()
    capture_random_states(generators)
    once = draw(generators)
    torch_state, numpy_state, python_state = torch.get_rng_state(), np.random.get_state(), random.getstate()
    capture_random_states(generators)
    assert torch.equal(torch.get_rng_state(), torch_state)
    assert str(np.random.get_state()) == str(numpy_state)
    assert random.getstate() == python_state
    assert draw(generators) != once


def test_other_generators_than_those_saved_are_refused_before_anything_is_restored() -> None:
    states = capture_random_states({"games": np.random.default_rng(1)})
    torch.manual_seed(1)
    before = torch.get_rng_state()
    with pytest.raises(CheckpointError, match=r"\['minibatches'\].*\['games'\]"):
        restore_random_states(states, {"minibatches": np.random.default_rng(1)})
    assert torch.equal(torch.get_rng_state(), before)
