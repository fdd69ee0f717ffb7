"""The pool of frozen opponents: the newest stay, draws are fair, and a checkpoint brings all of it back."""

from collections import Counter

import pytest
import torch

from keisei.evaluation.opponent_pool import DRAWS_PER_SEAT, RESULTS_PER_SEAT, OpponentPool


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


# ---- by rating


def rated_pool(*versions: int, seed: int = 1) -> OpponentPool:
    pool = OpponentPool(8, seed, "rating")
    for version in versions:
        pool.add(version, weights(float(version)))
    return pool


def drawn(pool: OpponentPool) -> int:
    snapshot = pool.draw()
    assert snapshot is not None
    return snapshot.version


def test_by_rating_close_opponents_are_drawn_more_often_and_none_is_left_out() -> None:
    pool = rated_pool(1, 2, 3)
    for number in range(100):
        pool.note_result(1, 1.0)
        pool.note_result(2, number % 2)
        pool.note_result(3, 0.0)
    met: Counter[int] = Counter()
    for _ in range(600):
        met[drawn(pool)] += 1
        for _ in range(RESULTS_PER_SEAT):
            pool.note_result(pool.state()["seat"][0], 0.5 if pool.state()["seat"][0] == 2 else 1.0)
    assert met[2] > 300 > met[1] + met[3]
    assert min(met[1], met[3]) > 0


def test_by_rating_an_opponent_keeps_its_seat_until_enough_whole_games_are_known() -> None:
    pool = rated_pool(*range(1, 9))
    first = drawn(pool)
    assert {drawn(pool) for _ in range(DRAWS_PER_SEAT - 1)} == {first}
    changes = set()
    for _ in range(20):
        seat = drawn(pool)
        changes.add(seat)
        for _ in range(RESULTS_PER_SEAT):
            pool.note_result(seat, 0.5)
    assert len(changes) > 2


def test_by_rating_results_of_who_has_left_are_forgotten() -> None:
    pool = OpponentPool(2, 1, "rating")
    for version in (1, 2):
        pool.add(version, weights(1.0))
        pool.note_result(version, 1.0)
    pool.add(3, weights(1.0))
    pool.note_result(1, 1.0)
    assert set(pool.state()["tallies"]) == {2}


def test_by_rating_a_restored_pool_draws_as_the_first_would_have() -> None:
    pool, other = rated_pool(1, 2, 3, 4), rated_pool(seed=77)
    for version in (1, 2, 2, 4):
        pool.note_result(version, 0.0)
        drawn(pool)
    other.load_tensors(pool.tensors())
    other.load_state(pool.state())
    other.generator.bit_generator.state = pool.generator.bit_generator.state
    one, same = ([drawn(each) for _ in range(100)] for each in (pool, other))
    assert one == same
    assert len(set(one)) > 1
