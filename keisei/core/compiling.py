"""torch.compile, trusted only after it has given the same answers."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar, cast

import torch

from keisei.core.devices import lacks_memory
from keisei.core.networks import BOARD_SIZE, OBSERVATION_PLANES, ActorCritic
from keisei.errors import first_line

TRIAL_POSITIONS = 8
TRIAL_SEED = 0
#: Fused kernels sum in another order; more than this would be another function.
TOLERANCE = 1e-3

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")

log = logging.getLogger(__name__)


def fused_on_gpu(function: Callable[Arguments, Answer], device: torch.device) -> Callable[Arguments, Answer]:
    """A function of tensors of fixed shapes, in few kernels; as it is on a CPU, and where compiling fails.

    Kernels are not chosen by measuring (`max-autotune`): that takes minutes, and convolutions are the library's anyway.
    """
    if device.type != "cuda":
        return function
    return _FusedOrPlain(function)


class _FusedOrPlain(Generic[Arguments, Answer]):
    """The compiled function until its first call fails, the plain one from then on."""

    def __init__(self, function: Callable[Arguments, Answer]) -> None:
        self._plain = function
        self._running: Callable[Arguments, Answer] = torch.compile(function, dynamic=False)
        self._is_trusted = False

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
        if self._is_trusted:
            return self._running(*args, **kwargs)
        try:
            answer = self._running(*args, **kwargs)
        except Exception as error:  # as in `compiled_or_plain`
            if lacks_memory(error):
                raise
            log.warning("torch.compile failed (%s); going on without it", first_line(error))
            self._running = self._plain
            answer = self._plain(*args, **kwargs)
        self._is_trusted = True
        return answer


def compiled_or_plain(network: ActorCritic) -> ActorCritic:
    """The compiled network, or the plain one, with a warning, where compiling fails or changes the answers."""
    compiled = cast(ActorCritic, torch.compile(network))
    try:
        difference = _difference(network, compiled)
    # Compilers fail in many ways (no C++ compiler, no Triton, unsupported operations), none of them the user's.
    except Exception as error:  # noqa: BLE001
        log.warning("torch.compile failed (%s); going on without it", first_line(error))
        return network
    if not difference <= TOLERANCE:  # also where it is not a number
        log.warning("torch.compile changes the answers by %.2g; going on without it", difference)
        return network
    return compiled


@torch.no_grad()
def _difference(network: ActorCritic, compiled: ActorCritic) -> float:
    device = next(network.parameters()).device
    generator = torch.Generator().manual_seed(TRIAL_SEED)
    planes = torch.rand((TRIAL_POSITIONS, OBSERVATION_PLANES, BOARD_SIZE, BOARD_SIZE), generator=generator)
    expected, found = (model(planes.to(device), with_auxiliary=False) for model in (network, compiled))
    policy = (expected.policy_logits - found.policy_logits).abs().max()
    value = (expected.value_logits - found.value_logits).abs().max()
    return float(torch.maximum(policy, value))
