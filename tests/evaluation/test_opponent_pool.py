"""The pool of frozen opponents: the newest stay, draws are fair, and a checkpoint brings all of it back."""

from collections import Counter

import pytest
import torch

from keisei.evaluation.opponent_pool import OpponentPool


def weights(value: float) -> dict[str, torch.Tensor]:
    return {"tower.weight": torch.full((2, 3), value), "bias": torch.tensor(value)}


def pool_of(*versions: int, size: int = 8, seed: int = 1) -> OpponentPool:
    pool = OpponentPool(size, seed)
    for version in versions:
        pool.add(version, weights(float(version)))
    return pool


def versions(pool: OpponentPool) -> list[int]:
    return [snapshot.version for snapshot in pool.snapshots]


def test_an_empty_pool_has_nobody_to_draw() -> None:
    pool = pool_of()
    assert pool.draw() is None
    assert len(pool) == 0
    assert pool.tensors() == {}


def test_the_oldest_leaves_when_the_pool_is_full() -> None:
    assert versions(pool_of(1, 2, 3, 4, size=3)) == [2, 3, 4]


def test_a_snapshot_does_not_follow_the_network_that_goes_on_learning() -> None:
    live = weights(1.0)
    pool = OpponentPool(4, 1)
    pool.add(1, live)
    live["bias"].fill_(99.0)
    live["tower.weight"].fill_(99.0)
    (snapshot,) = pool.snapshots
    assert snapshot.weights["bias"].item() == 1.0
    assert (snapshot.weights["tower.weight"] == 1.0).all()


def test_snapshots_need_no_gradients() -> None:
    network = torch.nn.Linear(2, 2)
    pool = OpponentPool(4, 1)
    pool.add(1, dict(network.named_parameters()))
    assert not any(tensor.requires_grad for tensor in pool.tensors().values())


def test_every_snapshot_is_drawn_equally_often() -> None:
    pool = pool_of(1, 2, 3, 4)
    counts = Counter(snapshot.version for _ in range(4000) if (snapshot := pool.draw()) is not None)
    assert set(counts) == {1, 2, 3, 4}
    assert all(count == pytest.approx(1000, abs=120) for count in counts.values())


def test_tensors_bring_everything_back() -> None:
    pool, other = pool_of(3, 10, 7 + 5), pool_of(99, 100)
    other.load_tensors(pool.tensors())
    assert versions(other) == versions(pool) == [3, 10, 12]
    for one, same in zip(pool.snapshots, other.snapshots, strict=True):
        assert one.weights.keys() == same.weights.keys()
        assert all(torch.equal(one.weights[name], same.weights[name]) for name in one.weights)


def test_a_restored_pool_draws_as_the_first_would_have() -> None:
    pool, other = pool_of(1, 2, 3, 4, 5), pool_of(seed=77)
    pool.draw()
    other.load_tensors(pool.tensors())
    other.generator.bit_generator.state = pool.generator.bit_generator.state
    one, same = ([each.draw() for _ in range(20)] for each in (pool, other))
    assert [snapshot and snapshot.version for snapshot in one] == [
        snapshot and snapshot.version for snapshot in same
    ]


def test_a_smaller_pool_takes_the_newest_of_a_larger_one() -> None:
    small = OpponentPool(2, 1)
    small.load_tensors(pool_of(1, 2, 3).tensors())
    assert versions(small) == [2, 3]
