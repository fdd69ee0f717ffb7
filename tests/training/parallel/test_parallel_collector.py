"""Workers behind the loop: the same learning as without them, and without them when they cannot be kept alive."""

import json
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch
from process_watch import children_with, worker_processes
from worker_samples import GAMES_PER_WORKER, PLIES, sample_config, until

from keisei.config_schema import AppConfig
from keisei.core.checkpoint import CheckpointFolder
from keisei.core.experience_buffer import ExperienceBuffer
from keisei.core.ppo_agent import PPOAgent
from keisei.core.rollout import RolloutSummary
from keisei.evaluation.opponent_pool import OpponentPool
from keisei.record.run_directory import RunDirectory
from keisei.training import Trainer
from keisei.training.collector import InProcessCollector
from keisei.training.events import TrainingEvent, UpdateFinished
from keisei.training.parallel.parallel_collector import ParallelCollector
from keisei.web.worker_table import worker_rows

UPDATES = 4
TOY_ENGINE = Path(__file__).resolve().parents[2] / "toy_usi_engine.py"


def never() -> bool:
    return False


class Learner:
    """A collector with what it needs, and the loop reduced to versions."""

    def __init__(self, config: AppConfig) -> None:
        self.agent = PPOAgent(config, torch.device("cpu"))
        self.pool = OpponentPool(config.training.opponents.pool_size, config.training.seed)
        self.buffer = ExperienceBuffer(config.rollout_rows)
        self.collector = ParallelCollector(config, self.agent, self.pool)
        self.version = 0

    def collect(self, should_stop: Callable[[], bool] = never) -> RolloutSummary:
        self.version += 1
        self.buffer.clear()
        return self.collector.collect(self.buffer, version=self.version, should_stop=should_stop)


@pytest.fixture
def make_learner() -> Iterator[Callable[[AppConfig], Learner]]:
    learners: list[Learner] = []

    def make(config: AppConfig) -> Learner:
        learners.append(Learner(config))
        return learners[-1]

    yield make
    for learner in learners:
        learner.collector.close()


def train(
    config: AppConfig, folder: Path, stop_after: int | None = None
) -> tuple[Path, list[UpdateFinished]]:
    """Trains a new run, or goes on with the one that is there."""
    events: list[UpdateFinished] = []

    def note(event: TrainingEvent) -> None:
        if isinstance(event, UpdateFinished):
            events.append(event)

    is_new = not folder.exists()
    run = RunDirectory.create(folder.parent, folder.name) if is_new else RunDirectory.open(folder)
    trainer = Trainer(config, run, should_stop=lambda: len(events) == stop_after, callbacks=[note])
    trainer.train(resume=not is_new)
    return run.checkpoints_path, events


def weights(checkpoints: Path) -> dict[str, torch.Tensor]:
    return dict(CheckpointFolder(checkpoints).latest_good().checkpoint.model)


def test_one_worker_stopped_and_resumed_learns_the_weights_of_an_uninterrupted_serial_run(
    tmp_path: Path,
) -> None:
    changes = {
        "training__total_plies": UPDATES * GAMES_PER_WORKER * PLIES,
        "training__opponents__share": 0.5,
        "training__opponents__snapshot_interval_updates": 1,
        "training__opponents__sampling": "rating",
        "training__opponents__anchor_share": 0.3,
        "training__opponents__anchors": ["greedy"],
    }
    serial, _ = train(sample_config(0, **changes), tmp_path / "serial")
    config = sample_config(1, **changes)
    train(config, tmp_path / "parallel", stop_after=2)
    parallel, events = train(config, tmp_path / "parallel")
    assert [event.update for event in events] == [3, 4]
    expected, learned = weights(serial), weights(parallel)
    assert expected.keys() == learned.keys()
    assert all(torch.equal(expected[name], learned[name]) for name in expected)


def test_a_run_that_goes_back_gets_new_workers_that_play_the_same_games_again(
    make_learner: Callable[[AppConfig], Learner],
) -> None:
    learner = make_learner(sample_config(1))
    learner.collect()
    state = learner.collector.state()
    learner.collect()
    expected = learner.buffer.rows.action.copy()
    learner.collect()
    (before,) = worker_processes()
    learner.collector.load_state(state)
    learner.version = 1
    learner.collect()
    (after,) = worker_processes()
    assert after.pid != before.pid
    assert np.array_equal(learner.buffer.rows.action, expected)
    assert set(learner.buffer.rows.version.tolist()) == {2}


def test_b10_b11_figures_of_a_run_with_two_workers_are_right(tmp_path: Path) -> None:
    rows = 2 * GAMES_PER_WORKER * 30
    config = sample_config(2, training__rollout_plies=30, training__total_plies=UPDATES * rows)
    began = time.monotonic()
    _, events = train(config, tmp_path / "run")
    seconds = time.monotonic() - began
    assert [event.plies for event in events] == [rows * (update + 1) for update in range(UPDATES)]
    last = events[-1].metrics
    assert last["workers"] == 2
    assert last["games"] == sum(event.metrics.get("games_finished", 0) for event in events) > 0
    assert last["plies_per_second"] >= UPDATES * rows / seconds, "the run contains start and end as well"
    phases = sum(
        value for event in events for name, value in event.metrics.items() if name.startswith("seconds_")
    )
    assert phases <= seconds
    assert last["plies_per_second"] == pytest.approx(UPDATES * rows / phases, rel=0.5)
    assert last["policy_lag"] == 0
    assert last["syncs"] == UPDATES
    assert 0 < last["worker_utilisation"] <= 1
    assert not worker_processes()


def test_async_training_has_bounded_lag_and_counts_every_ply_once(tmp_path: Path) -> None:
    rows = 2 * GAMES_PER_WORKER * PLIES
    updates = 20
    config = sample_config(2, parallel__mode="async", training__total_plies=updates * rows)
    _, events = train(config, tmp_path / "run")
    assert [event.plies for event in events] == [rows * (update + 1) for update in range(updates)]
    lags = [event.metrics["policy_lag"] for event in events]
    assert lags[0] == 0
    assert set(lags) <= {0, 1}
    assert 1 in lags, "workers play while the learner learns"
    assert events[-1].metrics["rows_lost"] == 0


def test_t4_a_worker_beyond_repair_ends_them_all_once_and_for_all(
    make_learner: Callable[[AppConfig], Learner], caplog: pytest.LogCaptureFixture
) -> None:
    learner = make_learner(sample_config(2, parallel__restart_budget=0))
    assert learner.collect().plies == 2 * GAMES_PER_WORKER * PLIES
    victims = worker_processes()
    assert len(victims) == 2
    os.kill(victims[0].pid, signal.SIGKILL)
    with caplog.at_level(logging.ERROR):
        while learner.collector.status()["workers"]:
            assert learner.collect().plies == 2 * GAMES_PER_WORKER * PLIES
    assert "training goes on without workers" in caplog.text
    assert not worker_processes(), "really stopped"
    assert len(learner.buffer) == 2 * GAMES_PER_WORKER * PLIES
    for _ in range(3):
        assert learner.collect().plies == 2 * GAMES_PER_WORKER * PLIES
        assert (learner.buffer.rows.version == learner.version).all()
        assert not worker_processes(), "and never tried again"
    assert set(learner.collector.state()) == {"0"}
    assert learner.collector.status() == {"workers": 0}
    assert learner.collector.details() == {}


def test_the_details_of_every_worker_can_be_written_down(
    make_learner: Callable[[AppConfig], Learner],
) -> None:
    learner = make_learner(sample_config(2))
    learner.collect()
    figures = learner.collector.status()
    details = json.loads(json.dumps(learner.collector.details()))
    assert sorted(details["workers"]) == ["0", "1"]
    assert figures["workers"] == sum(worker["alive"] for worker in details["workers"].values())
    assert worker_rows(details)[0]["restarts"] == "0"


def test_t4_workers_that_die_while_games_are_saved_do_not_end_the_run(
    make_learner: Callable[[AppConfig], Learner],
) -> None:
    learner = make_learner(sample_config(1, parallel__restart_budget=0))
    learner.collect()
    (worker,) = worker_processes()
    worker.kill()
    until(lambda: worker.status() == psutil.STATUS_ZOMBIE)
    assert learner.collector.state() == {}, "the dead have no games"
    assert learner.collect().plies == GAMES_PER_WORKER * PLIES
    assert set(learner.collector.state()) == {"0"}, "the games of the trainer itself"


def test_b8_training_goes_on_in_process_when_no_worker_can_start(
    make_learner: Callable[[AppConfig], Learner], caplog: pytest.LogCaptureFixture
) -> None:
    learner = make_learner(sample_config(1, model__architecture="failing_networks:out_of_memory"))
    assert learner.collect().plies == GAMES_PER_WORKER * PLIES
    assert "MemoryError: no memory for a network" in caplog.text
    assert not worker_processes()


def test_workers_that_alone_play_frozen_opponents_get_some(tmp_path: Path) -> None:
    """The settings of the run say none; the documents' own example of an override says half of one worker's games."""
    config = sample_config(
        2,
        training__total_plies=UPDATES * 2 * GAMES_PER_WORKER * PLIES,
        training__opponents__snapshot_interval_updates=1,
        parallel__worker_overrides=["1: training.temperature=1.2 training.opponents.share=0.5"],
    )
    checkpoints, _ = train(config, tmp_path / "run")
    assert CheckpointFolder(checkpoints).latest_good().checkpoint.tensors["opponents"]


def test_every_worker_has_games_among_those_that_are_kept(
    make_learner: Callable[[AppConfig], Learner],
) -> None:
    changes = {"training__rollout_plies": 60, "record__games_kept_per_update": 2}  # as long as a whole game
    learner = make_learner(sample_config(2, **changes))
    kept = learner.collect().kept
    serial_config = sample_config(0, **changes)
    serial = InProcessCollector(serial_config, learner.agent, learner.pool)
    buffer = ExperienceBuffer(serial_config.rollout_rows)
    of_worker_0 = [game.sfen for game in serial.collect(buffer, version=1, should_stop=never).kept]
    serial.close()
    assert len(kept) == len(of_worker_0) == 2
    assert sum(game.sfen in of_worker_0 for game in kept) == 1


def test_the_fall_back_is_closed_with_the_collector(make_learner: Callable[[AppConfig], Learner]) -> None:
    engine = f"usi:{sys.executable} {TOY_ENGINE}?nodes=1"
    config = sample_config(
        1,
        parallel__restart_budget=0,
        training__opponents__anchor_share=0.5,
        training__opponents__anchors=[engine],
    )

    def engines() -> list[psutil.Process]:
        return children_with(str(TOY_ENGINE))

    learner = make_learner(config)
    learner.collect()
    assert not engines(), "the worker has its own"
    for worker in worker_processes():
        worker.kill()
    until(lambda: bool(learner.collect().plies and engines()))
    learner.collector.close()
    assert not engines()


def test_intervals_count_updates(make_learner: Callable[[AppConfig], Learner]) -> None:
    learner = make_learner(
        sample_config(1, parallel__model_sync_interval=2, parallel__worker_reset_interval=3)
    )
    versions, firsts, lasts = [], [], []
    for _ in range(7):
        learner.collect()
        rows = learner.buffer.rows
        versions.append(int(rows.version[0]))
        firsts.append(rows.game[:GAMES_PER_WORKER].copy())
        lasts.append(rows.game[-GAMES_PER_WORKER:].copy())
        assert (rows.version == versions[-1]).all()
    assert versions == [1, 1, 3, 3, 5, 5, 7]
    new_games = [not np.intersect1d(firsts[i], lasts[i - 1]).size for i in range(1, 7)]
    assert new_games == [False, False, True, False, False, True], "after 3 updates and after 6"


def test_a_stop_leaves_the_collection_at_once(make_learner: Callable[[AppConfig], Learner]) -> None:
    learner = make_learner(sample_config(1, training__rollout_plies=60_000, training__total_plies=10**9))
    summary = learner.collect(should_stop=lambda: True)
    assert summary.stopped
    assert len(learner.buffer) == 0
    began = time.monotonic()
    learner.collector.close()
    assert time.monotonic() - began < 5
    assert not worker_processes()


def test_games_that_were_shared_out_otherwise_are_not_forced_on_the_workers(
    make_learner: Callable[[AppConfig], Learner], caplog: pytest.LogCaptureFixture
) -> None:
    learner = make_learner(sample_config(2))
    learner.collect()
    state = learner.collector.state()
    assert sorted(state) == ["0", "1"]
    learner.collector.load_state({"0": state["0"]})
    assert not caplog.records, "a worker that had no games may be missing"
    for wrong in (
        {"0": {"games": {"game": np.arange(3)}}},
        {**state, "2": state["0"]},
    ):
        caplog.clear()
        learner.collector.load_state(wrong)
        assert "new games begin" in caplog.text
    assert learner.collect().plies == 2 * GAMES_PER_WORKER * PLIES
