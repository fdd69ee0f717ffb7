"""What goes into a checkpoint comes back out of it, into the same objects."""

from pathlib import Path

import pytest
import torch
from tiny_runs import content_hash, tiny_config

from keisei.config_schema import AppConfig
from keisei.core.checkpoint import Checkpoint, CheckpointStore, load_checkpoint
from keisei.core.experience_buffer import ExperienceBuffer
from keisei.core.ppo_agent import PPOAgent
from keisei.core.state_tensors import flatten_state
from keisei.errors import CheckpointError
from keisei.evaluation.opponent_pool import OpponentPool
from keisei.record.metrics import GameResult, Metrics
from keisei.training.collapse_guard import CollapseGuard
from keisei.training.collector import InProcessCollector
from keisei.training.run_state import RunState

CPU = torch.device("cpu")


class Parts:
    """The stateful parts of a serial run, which can take one update."""

    def __init__(self, config: AppConfig) -> None:
        self.agent = PPOAgent(config, CPU)
        self.pool = OpponentPool(config.training.opponents.pool_size, config.training.seed)
        self.collector = InProcessCollector(config, self.agent, self.pool)
        self.metrics = Metrics()
        self.guard = CollapseGuard(config.training.guard)
        self.state = RunState(self.agent, self.collector, self.pool, self.metrics, self.guard)
        self.buffer = ExperienceBuffer(config.rollout_rows)

    def update(self) -> None:
        self.buffer.clear()
        summary = self.collector.collect(
            self.buffer, version=self.metrics.updates + 1, should_stop=lambda: False
        )
        self.metrics.count_rollout(
            summary.plies, [GameResult(game.winner, game.reason) for game in summary.finished]
        )
        self.buffer.compute_targets(gamma=0.99, lam=0.9)
        self.agent.learn(self.buffer, 0.5)
        self.pool.add(self.metrics.count_update(), self.agent.network.state_dict())

    def save(self, folder: Path) -> Checkpoint:
        return load_checkpoint(self.state.save(CheckpointStore(folder), self.state.games()))

    def go_on(self, path: Path) -> None:
        """Takes two updates from a checkpoint on, which is read anew: an optimiser works on the tensors it is given."""
        self.state.load(load_checkpoint(path))
        self.update()
        self.update()


def config(seed: int = 1, **changes: object) -> AppConfig:
    return tiny_config(9, training__seed=seed, **changes)


def test_everything_comes_back_and_goes_on_alike(tmp_path: Path) -> None:
    first = Parts(config())
    for _ in range(3):
        first.update()
    saved = first.save(tmp_path / "three")
    second = Parts(config(seed=99))
    second.state.load(saved)
    assert content_hash(second.save(tmp_path / "again")) == content_hash(saved)
    first.go_on(saved.path)
    one = first.save(tmp_path / "one")
    second.go_on(saved.path)
    assert content_hash(one) == content_hash(second.save(tmp_path / "other")) != content_hash(saved)


def test_t3_loading_changes_the_parts_and_exchanges_none(tmp_path: Path) -> None:
    """Whoever holds a part sees what was loaded: there is no second copy to go stale."""
    first = Parts(config())
    first.update()
    saved = first.save(tmp_path)
    second = Parts(config(seed=2))
    network, inference = second.agent.network, second.agent.inference
    watched = second.collector.watched_game()
    second.state.load(saved)
    assert second.agent.network is network
    assert second.agent.inference is inference
    assert inference.network is network
    assert all(torch.equal(tensor, saved.model[name]) for name, tensor in network.state_dict().items())
    assert second.collector.watched_game() != watched
    assert second.collector.watched_game() == first.collector.watched_game()
    second.buffer.clear()
    second.collector.collect(second.buffer, version=2, should_stop=lambda: False)
    own = second.buffer.rows[second.buffer.rows.learner]
    values = second.agent.inference.values(own.record)
    assert abs(values - own.value).max() < 1e-6, "the collector plays with the weights that were loaded"


def test_games_taken_at_the_end_of_an_update_do_not_move_with_the_next(tmp_path: Path) -> None:
    parts = Parts(config())
    parts.update()
    games = parts.state.games()
    before, _ = flatten_state(games.state)
    before = {name: tensor.clone() for name, tensor in before.items()}
    parts.collector.collect(ExperienceBuffer(64), version=2, should_stop=lambda: False)
    after, _ = flatten_state(games.state)
    assert after.keys() == before.keys()
    assert all(torch.equal(tensor, before[name]) for name, tensor in after.items())
    assert games.metrics["updates"] == 1


def test_averaging_can_begin_with_a_resume(tmp_path: Path) -> None:
    without = Parts(config(training__weight_averaging=0))
    without.update()
    saved = without.save(tmp_path)
    assert "averaged" not in saved.tensors
    parts = Parts(config())
    parts.state.load(saved)
    averaged = parts.agent.graded_network().state_dict()
    assert all(torch.equal(tensor, saved.model[name]) for name, tensor in averaged.items())


def test_an_empty_pool_comes_back_empty(tmp_path: Path) -> None:
    saved = Parts(config()).save(tmp_path)
    full = Parts(config())
    full.update()
    assert len(full.pool) == 1
    full.state.load(saved)
    assert len(full.pool) == 0


@pytest.mark.parametrize("missing", ["metrics", "training"])
def test_state_that_lacks_something_is_refused_by_file(tmp_path: Path, missing: str) -> None:
    saved = Parts(config()).save(tmp_path)
    state = {key: value for key, value in saved.state.items() if key != missing}
    broken = Checkpoint(saved.path, saved.manifest, saved.tensors, state)
    with pytest.raises(CheckpointError, match=f"(?s){saved.path}.*does not fit.*config.yaml"):
        Parts(config()).state.load(broken)


def test_g5_tensors_that_fit_are_not_enough(tmp_path: Path) -> None:
    saved = Parts(config()).save(tmp_path)
    other = Parts(config(model__architecture="hostile_networks:same_layers"))
    with pytest.raises(CheckpointError, match="architecture is 'cnn' but 'hostile_networks:same_layers'"):
        other.state.load(saved)
