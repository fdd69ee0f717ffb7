"""The worker process: it tells what goes wrong, hears nobody but the trainer, and does not outlive it."""

import os
import signal
from collections.abc import Iterator

import psutil
import pytest
from worker_samples import PATIENCE_SECONDS, network, sample_config

from keisei.errors import WorkerFailedError
from keisei.training.parallel import ParallelManager


@pytest.mark.parametrize(
    ("architecture", "error", "line"),
    [
        ("failing_networks:cannot_be_built", "RuntimeError: no network in a worker", "in cannot_be_built"),
        ("failing_networks:end_of_file", "EOFError: the network's file is empty", "in end_of_file"),
        ("import_fails_in_workers:build", "cannot import 'import_fails_in_workers'", "in _imported_builder"),
    ],
)
def test_b8_a_worker_that_cannot_start_tells_why(architecture: str, error: str, line: str) -> None:
    config = sample_config(1, model__architecture=architecture)
    with ParallelManager(config) as manager:
        with pytest.raises(WorkerFailedError, match="worker 0 failed before it played anything") as raised:
            manager.collect_experiences(PATIENCE_SECONDS)
        assert error in str(raised.value)
        assert line in str(raised.value), "the worker's own traceback"


def test_w6_a_key_error_in_play_reaches_the_trainer() -> None:
    config = sample_config(1, model__architecture="failing_networks:fails_in_play", env__num_games=5)
    with ParallelManager(config) as manager:
        manager.sync_model_to_workers(network(config).state_dict())
        with pytest.raises(WorkerFailedError, match="KeyError: 'lost in play'") as raised:
            manager.collect_experiences(PATIENCE_SECONDS)
        assert "in _raise_key_error" in str(raised.value)


@pytest.fixture(scope="module")
def manager() -> Iterator[ParallelManager]:
    config = sample_config(1)
    with ParallelManager(config) as manager:
        # From the first instruction on: Ctrl-C during the start of a process must not reach it either.
        os.kill(worker(manager).pid, signal.SIGINT)
        manager.sync_model_to_workers(network(config).state_dict())
        assert manager.collect_experiences(PATIENCE_SECONDS)
        yield manager


def worker(manager: ParallelManager) -> psutil.Process:
    return psutil.Process(manager.get_status()["workers"][0]["pid"])


def test_1a_workers_are_spawned_whatever_the_default_is(manager: ParallelManager) -> None:
    assert "multiprocessing.spawn" in " ".join(worker(manager).cmdline())


def test_a_worker_has_one_thread_and_is_a_child_of_the_trainer(
    manager: ParallelManager,
) -> None:
    assert worker(manager).ppid() == os.getpid()
    assert worker(manager).num_threads() == 1


def test_ctrl_c_is_the_trainers_business(manager: ParallelManager) -> None:
    process = worker(manager)
    for _ in range(3):
        process.send_signal(signal.SIGINT)
    assert len(manager.collect_experiences(PATIENCE_SECONDS)) == 1
    assert worker(manager) == process
    assert manager.get_status()["restarts"] == 0
