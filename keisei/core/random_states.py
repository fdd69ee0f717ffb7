"""The state of every random generator of a process: captured for a checkpoint, put back for a resume."""

import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from keisei.errors import CheckpointError

Generator = np.random.Generator | torch.Generator | random.Random


def capture_random_states(generators: Mapping[str, Generator]) -> dict[str, Any]:
    """The global generators of torch (CPU and each GPU), numpy and Python, and the named ones of the run.

    The result nests tensors, arrays and plain values; ``flatten_state`` makes files of it.
    """
    return {
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        "numpy": np.random.get_state(legacy=False),
        "python": _python_state(random.getstate()),
        "generators": {name: _state_of(generator) for name, generator in generators.items()},
    }


def restore_random_states(states: Mapping[str, Any], generators: Mapping[str, Generator]) -> None:
    """Put captured states back. GPUs that are not there are passed over: exactness is per machine anyway."""
    if states["generators"].keys() != generators.keys():
        raise CheckpointError(
            f"expected saved states of the generators {sorted(generators)!r}, "
            f"got {sorted(states['generators'])!r}; resume with the Keisei that wrote the checkpoint"
        )
    torch.set_rng_state(states["torch"])
    for device, state in zip(range(torch.cuda.device_count()), states["cuda"], strict=False):
        torch.cuda.set_rng_state(state, device)
    np.random.set_state(states["numpy"])
    random.setstate(_python_tuple(states["python"]))
    for name, generator in generators.items():
        _restore(generator, states["generators"][name])


def _state_of(generator: Generator) -> Any:
    match generator:
        case np.random.Generator():
            return dict(generator.bit_generator.state)
        case torch.Generator():
            return generator.get_state()
        case random.Random():
            return _python_state(generator.getstate())


def _restore(generator: Generator, state: Any) -> None:
    match generator:
        case np.random.Generator():
            generator.bit_generator.state = state
        case torch.Generator():
            generator.set_state(state)
        case random.Random():
            generator.setstate(_python_tuple(state))


def _python_state(state: tuple[Any, ...]) -> dict[str, Any]:
    version, words, gauss_next = state
    return {"version": version, "words": np.array(words, dtype=np.uint32), "gauss_next": gauss_next}


def _python_tuple(state: Mapping[str, Any]) -> tuple[Any, ...]:
    return state["version"], tuple(state["words"].tolist()), state["gauss_next"]
