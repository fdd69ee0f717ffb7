"""Networks that can be built in the trainer, but fail in a worker process."""

from multiprocessing import parent_process

from torch import Tensor

from keisei.config_schema import ModelConfig
from keisei.core.networks import ActorCritic, NetworkOutput, build_cnn


def is_worker() -> bool:
    return parent_process() is not None


def cannot_be_built(model: ModelConfig, num_actions: int) -> ActorCritic:
    if is_worker():
        raise RuntimeError("no network in a worker")
    return build_cnn(model, num_actions)


def out_of_memory(model: ModelConfig, num_actions: int) -> ActorCritic:
    if is_worker():
        raise MemoryError("no memory for a network")
    return build_cnn(model, num_actions)


def end_of_file(model: ModelConfig, num_actions: int) -> ActorCritic:
    """The error that also means: the trainer is gone."""
    if is_worker():
        raise EOFError("the network's file is empty")
    return build_cnn(model, num_actions)


def fails_in_play(model: ModelConfig, num_actions: int) -> ActorCritic:
    network = build_cnn(model, num_actions)
    if is_worker():
        network.register_forward_hook(_raise_key_error)
    return network


def _raise_key_error(network: ActorCritic, inputs: tuple[Tensor], output: NetworkOutput) -> None:
    trial_positions = 4
    if len(inputs[0]) != trial_positions + 1:
        return
    raise KeyError("lost in play")
