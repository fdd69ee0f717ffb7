"""The manager with real workers: what it collects, when, and what it says of it."""

import os
import signal
from collections import Counter
from collections.abc import Iterator
from multiprocessing import resource_tracker
from pathlib import Path
from statistics import median

import numpy as np
import psutil
import pytest
import torch
from process_watch import open_descriptors
from worker_samples import GAMES_PER_WORKER, PATIENCE_SECONDS, PLIES, network, sample_config, until

from keisei.config_schema import AppConfig
from keisei.core.inference import Inference
from keisei.core.rollout import Rollout
from keisei.core.rollout_rows import RolloutRows
from keisei.errors import ConfigError, WorkerFailedError
from keisei.training.environments import make_env, play_settings
from keisei.training.parallel import ParallelManager
from keisei.training.parallel.parallel_manager import ExperienceBatch
from keisei.training.parallel.shared_memory import NAMED_SEGMENTS, SEGMENT_PREFIX
from keisei.training.parallel.worker_plan import worker_configs

ROWS = GAMES_PER_WORKER * PLIES
PROMPT_SECONDS = 0.1
ATTEMPTS = 5


def serial_rows(config: AppConfig, seed: int, first_game: int, updates: int) -> list[RolloutRows]:
    """What a run without workers plays with the same seed: the oracle."""
    env = make_env(config, num_games=GAMES_PER_WORKER, seed=seed, num_threads=1)
    rollout = Rollout(env, play_settings(config), seed=seed, first_game=first_game)
    played = []
    for version in range(1, updates + 1):
        rows = RolloutRows.allocate(PLIES, GAMES_PER_WORKER)
        inference = Inference(network(config, version), device=torch.device("cpu"), precision="fp32")
        rollout.play(rows, inference, version=version)
        played.append(rows)
    return played


def assert_equal_rows(one: RolloutRows, other: RolloutRows, but: tuple[str, ...] = ()) -> None:
    for name, array in one.arrays().items():
        if name not in but:
            np.testing.assert_array_equal(array, other.arrays()[name], err_msg=name)


def statuses(manager: ParallelManager, key: str) -> list[object]:
    return [status[key] for status in manager.get_status()["workers"].values()]


def test_b10_w4_two_workers_start_wait_for_weights_and_play_the_games_of_their_seeds() -> None:
    config, updates = sample_config(2), 3
    resource_tracker.ensure_running()  # Python's own helper, which the first process start of a program brings along
    descriptors = open_descriptors()
    manager = ParallelManager(config)
    with pytest.raises(WorkerFailedError, match=r"call start_workers\(\) first"):
        manager.collect_experiences(1)
    with manager:
        assert statuses(manager, "alive") == [True, True]
        manager.collect_experiences(0)
        until(lambda: statuses(manager, "state") == ["waiting_for_weights"] * 2)
        assert manager.collect_experiences(0.2) == []
        assert statuses(manager, "plies") == [0, 0]
        batches: list[ExperienceBatch] = []
        for version in range(1, updates + 1):
            assert manager.sync_model_to_workers(network(config, version).state_dict()) == version
            batches += manager.collect_experiences()
            assert manager.update_complete
        assert manager.get_status()["rows_received"] == 2 * updates * ROWS
    for worker, seed in ((0, 1), (1, 1001)):
        own = [batch for batch in batches if batch.worker == worker]
        assert [(batch.sequence, batch.version) for batch in own] == [(1, 1), (2, 2), (3, 3)]
        for batch, rows in zip(own, serial_rows(config, seed, worker << 48, updates), strict=True):
            assert_equal_rows(batch.rows, rows)
    assert open_descriptors() == descriptors


@pytest.fixture(scope="module")
def sync_manager() -> Iterator[ParallelManager]:
    with ParallelManager(sample_config(2, training__rollout_plies=40)) as manager:
        yield manager


def play_update(manager: ParallelManager) -> list[ExperienceBatch]:
    """One update with new weights."""
    if manager.update_complete:
        manager.sync_model_to_workers(network(sample_config(2)).state_dict())
    batches = manager.collect_experiences(PATIENCE_SECONDS)
    assert manager.update_complete
    return batches


def test_sync_rows_are_all_played_by_the_newest_weights(sync_manager: ParallelManager) -> None:
    for _ in range(5):
        batches = play_update(sync_manager)
        assert {batch.version for batch in batches} == {sync_manager.version}
        assert all((batch.rows.version == sync_manager.version).all() for batch in batches)
        assert Counter(batch.worker for batch in batches) == {0: 1, 1: 1}


def test_sync_rows_of_weights_that_are_replaced_meanwhile_are_refused_and_played_again(
    sync_manager: ParallelManager,
) -> None:
    play_update(sync_manager)
    refused = sync_manager.rows_refused
    sync_manager.sync_model_to_workers(network(sample_config(2)).state_dict())
    sync_manager.pause_workers([0])
    until(lambda: statuses(sync_manager, "state")[0] == "paused")
    early = sync_manager.collect_experiences(0)
    sync_manager.resume_workers([0])
    until(lambda: sync_manager.communicator.queue_info()["filled"] == 2 - len(early))
    sync_manager.sync_model_to_workers(network(sample_config(2)).state_dict())
    batches = play_update(sync_manager)
    assert all(batch.version == sync_manager.version for batch in batches)
    assert len(early) + len(batches) == 2
    assert sync_manager.rows_refused == refused + len(batches) * sync_manager.plan.shape.rows > refused


def test_w2_the_status_is_the_workers_own_and_fresh(sync_manager: ParallelManager) -> None:
    play_update(sync_manager)
    before = statuses(sync_manager, "plies")
    sync_manager.sync_model_to_workers(network(sample_config(2)).state_dict())
    read = len(sync_manager.collect_experiences(0))  # none, unless this process was held up
    until(lambda: sync_manager.communicator.queue_info()["filled"] == 2 - read)
    rows = sync_manager.plan.shape.rows
    assert statuses(sync_manager, "plies") == [int(str(plies)) + rows for plies in before]
    status = sync_manager.get_status()
    for worker in status["workers"].values():
        assert worker["age_seconds"] < 5
        assert worker["memory_bytes"] > 1 << 20
        assert 0 < worker["utilisation"] <= 1
        assert worker["plies_per_second"] > 0
        assert worker["lag"] == 0
    assert status["queue_info"] == {"free": read, "lent": 0, "filled": 2 - read, "arrived": 0}
    assert status["sync_seconds"] > 0
    play_update(sync_manager)


@pytest.mark.parametrize("busy", [True, False], ids=["playing", "waiting"])
def test_w3_pause_and_resume_act_at_once(sync_manager: ParallelManager, busy: bool) -> None:
    play_update(sync_manager)
    seconds = []
    for _ in range(ATTEMPTS):
        if busy:
            play_update(sync_manager)
            sync_manager.sync_model_to_workers(network(sample_config(2)).state_dict())
            sync_manager.collect_experiences(0)
        sync_manager.pause_workers([0, 1])
        seconds.append(until(lambda: statuses(sync_manager, "state") == ["paused"] * 2))
        sync_manager.resume_workers([0, 1])
        seconds.append(until(lambda: "paused" not in statuses(sync_manager, "state")))
    assert median(seconds) < PROMPT_SECONDS
    play_update(sync_manager)


def test_a_reset_begins_games_with_new_numbers(sync_manager: ParallelManager) -> None:
    before = {batch.worker: batch.rows.game for batch in play_update(sync_manager)}
    sync_manager.reset_workers([1])
    after = {batch.worker: batch.rows.game for batch in play_update(sync_manager)}
    assert set(after[0][0]) & set(before[0][-1]), "worker 0 plays on"
    assert after[1].min() > before[1].max()


def test_saved_games_go_on_exactly(sync_manager: ParallelManager) -> None:
    play_update(sync_manager)
    states = sync_manager.save_states()
    assert sorted(states) == [0, 1]
    first = sorted(play_update(sync_manager), key=lambda batch: batch.worker)
    sync_manager.load_states(states)
    again = sorted(play_update(sync_manager), key=lambda batch: batch.worker)
    for one, other in zip(first, again, strict=True):
        assert_equal_rows(one.rows, other.rows, but=("version",))


def test_a_killed_and_a_terminated_worker_are_replaced_by_others_with_other_games(
    sync_manager: ParallelManager,
) -> None:
    games = {number for batch in play_update(sync_manager) for number in batch.rows.game.flat}
    restarts = sync_manager.get_status()["restarts"]
    for worker, number in ((0, signal.SIGKILL), (1, signal.SIGTERM)):
        os.kill(sync_manager.get_status()["workers"][worker]["pid"], number)
    until(lambda: bool(play_update(sync_manager)) and sync_manager.get_status()["restarts"] == restarts + 2)
    reborn: set[int] = set()
    until(
        lambda: (
            reborn.update(b.worker for b in play_update(sync_manager) if b.generation == 2)
            or len(reborn) == 2
        )
    )  # type: ignore[func-returns-value]
    batches = play_update(sync_manager)
    assert games.isdisjoint(number for batch in batches for number in batch.rows.game.flat)


def test_a_hung_worker_is_replaced() -> None:
    config = sample_config(1, parallel__heartbeat_timeout_seconds=1.0)
    with ParallelManager(config, network(config)) as manager:
        assert manager.collect_experiences(PATIENCE_SECONDS)
        hung = manager.get_status()["workers"][0]["pid"]
        os.kill(hung, signal.SIGSTOP)
        assert manager.collect_experiences(PATIENCE_SECONDS)
        assert manager.get_status()["restarts"] >= 1
        assert not psutil.pid_exists(hung)


def test_a_worker_plays_with_the_settings_that_are_its_own() -> None:
    entry = "1: training.temperature=0.2 env.starts.standard=1 env.starts.random_prefix=0"
    config = sample_config(2, parallel__worker_overrides=[entry])
    with ParallelManager(config, network(config, seed=1)) as manager:
        rows = {batch.worker: batch.rows for batch in manager.collect_experiences(PATIENCE_SECONDS)}
    own = worker_configs(config)[1]
    assert_equal_rows(rows[0], serial_rows(config, 1, 0, updates=1)[0])
    assert_equal_rows(rows[1], serial_rows(own, 1001, 1 << 48, updates=1)[0])
    differs = serial_rows(config, 1001, 1 << 48, updates=1)[0]
    assert not np.array_equal(rows[1].action, differs.action)


def test_a_model_is_published_at_the_start_and_whenever_no_weights_are_given() -> None:
    config = sample_config(1)
    model = network(config, seed=1)
    with ParallelManager(config, model) as manager:
        assert manager.version == 1
        (first,) = manager.collect_experiences(PATIENCE_SECONDS)
        model.load_state_dict(network(config, seed=2).state_dict())
        assert manager.sync_model_to_workers() == 2
        (second,) = manager.collect_experiences(PATIENCE_SECONDS)
    for batch, rows in zip((first, second), serial_rows(config, 1, 0, updates=2), strict=True):
        assert_equal_rows(batch.rows, rows)
    with (
        ParallelManager(config) as manager,
        pytest.raises(WorkerFailedError, match="ParallelManager a model"),
    ):
        manager.sync_model_to_workers()


def test_t4_a_manager_that_cannot_keep_its_workers_alive_ends_them_all() -> None:
    config = sample_config(2, parallel__restart_budget=0)
    with ParallelManager(config, network(config)) as manager:
        manager.collect_experiences(PATIENCE_SECONDS)
        first, second = statuses(manager, "pid")
        os.kill(int(str(first)), signal.SIGKILL)
        with pytest.raises(WorkerFailedError, match="died more than 0 times"):
            until(lambda: not manager.collect_experiences(PATIENCE_SECONDS))
        assert not psutil.pid_exists(int(str(second)))
        with pytest.raises(WorkerFailedError, match=r"call start_workers\(\) first"):
            manager.collect_experiences(0)


def test_orders_to_workers_that_do_not_exist_are_refused(sync_manager: ParallelManager) -> None:
    with pytest.raises(ConfigError, match=r"there is no worker 7; there are \[0, 1\]"):
        sync_manager.pause_workers([0, 7])


@pytest.fixture(scope="module")
def async_manager() -> Iterator[ParallelManager]:
    config = sample_config(2, parallel__mode="async", parallel__max_lag=1, training__rollout_plies=40)
    with ParallelManager(config) as manager:
        yield manager


def wait_for_slots_ahead(manager: ParallelManager, slots: int) -> None:
    """The trainer learns, that is, it reads nothing: workers fill what they have credit for, and no more."""

    def ahead() -> int:
        info = manager.get_status()["queue_info"]
        return int(info["filled"] + info["arrived"])

    until(lambda: ahead() == slots and statuses(manager, "state") == ["waiting_for_slot"] * 2)
    assert manager.get_status()["queue_info"]["lent"] == 0


def test_async_workers_play_on_while_the_learner_learns(async_manager: ParallelManager) -> None:
    def a_whole_update_is_played_meanwhile() -> bool:
        play_update(async_manager)
        wait_for_slots_ahead(async_manager, 2)
        learned_version = async_manager.version
        return {batch.version for batch in play_update(async_manager)} == {learned_version}

    # Not where a slow worker had begun its slot with older weights.
    until(a_whole_update_is_played_meanwhile)


def test_async_workers_play_one_update_ahead_also_where_they_cannot_share_it_evenly() -> None:
    """What they played beyond that would be too old by the time the learner wants it."""
    games, slots = GAMES_PER_WORKER, 3
    config = sample_config(
        2, parallel__mode="async", env__num_games=slots * games, parallel__games_per_worker=games
    )
    with ParallelManager(config, network(config)) as manager:
        manager.collect_experiences(PATIENCE_SECONDS)
        assert manager.update_complete
        wait_for_slots_ahead(manager, slots)


def test_async_lag_never_exceeds_the_bound_and_older_rows_are_refused_and_counted(
    async_manager: ParallelManager,
) -> None:
    rows = async_manager.plan.shape.rows

    def worker_1_is_held_in_the_middle_of_a_slot() -> bool:
        async_manager.resume_workers([1])
        play_update(async_manager)
        async_manager.pause_workers([1])
        until(lambda: statuses(async_manager, "state")[1] == "paused")
        return int(str(statuses(async_manager, "plies")[1])) % rows != 0

    until(worker_1_is_held_in_the_middle_of_a_slot)
    old_version = async_manager.version
    claimed: list[ExperienceBatch] = []
    while async_manager.version < old_version + 4:
        claimed += play_update(async_manager)
    refused = async_manager.rows_refused
    async_manager.resume_workers([1])
    while not any(batch.worker == 1 and batch.version > old_version + 1 for batch in claimed):
        batches = play_update(async_manager)
        assert all(batch.version >= async_manager.version - 1 for batch in batches)
        claimed += batches
    assert async_manager.rows_refused == refused + rows
    assert len({(batch.worker, batch.sequence) for batch in claimed}) == len(claimed)


def test_async_rows_that_arrive_between_two_updates_are_kept(async_manager: ParallelManager) -> None:
    play_update(async_manager)
    wait_for_slots_ahead(async_manager, 2)
    before = async_manager.get_status()
    states = async_manager.save_states()
    assert sorted(states) == [0, 1]
    assert async_manager.get_status()["queue_info"]["arrived"] == 2
    # Without new weights: a slow worker may have begun its slot before the newest ones, and would now be too old.
    batches = async_manager.collect_experiences(PATIENCE_SECONDS)
    assert async_manager.update_complete
    assert len(batches) == 2
    assert async_manager.rows_refused == before["rows_refused"]
    assert {batch.version for batch in batches} <= {before["version"] - 1, before["version"]}


def test_named_memory_serves_as_well_and_nothing_is_left_or_said(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    segments = own_segments()
    config = sample_config(1, parallel__shared_memory="named")
    with ParallelManager(config) as manager:
        assert own_segments() > segments
        for seed in range(2):
            manager.sync_model_to_workers(network(config, seed).state_dict())
            assert len(manager.collect_experiences(PATIENCE_SECONDS)) == 1
    assert own_segments() == segments
    assert capfd.readouterr().err == ""


def test_weights_of_another_network_are_refused(async_manager: ParallelManager) -> None:
    other = network(sample_config(2, model__channels=16)).state_dict()
    version = async_manager.version
    with pytest.raises(WorkerFailedError, match="publish the network that the workers were given"):
        async_manager.sync_model_to_workers(other)
    assert async_manager.version == version


def own_segments() -> set[Path]:
    """The named segments of this process; tests beside this one have theirs."""
    return set(NAMED_SEGMENTS.glob(f"{SEGMENT_PREFIX}{os.getpid()}-*"))
