"""The experience buffer: nothing lost, nothing mixed, nothing allocated twice."""

import gc
import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rollout_samples import random_rollout

from keisei.core.advantages import draw_mass, normalise_advantages, two_player_gae
from keisei.core.auxiliary_targets import material_targets, moves_left_targets, reply_targets
from keisei.core.experience_buffer import ExperienceBuffer
from keisei.core.played_positions import PlayedPositions
from keisei.core.rollout_rows import RolloutRows
from keisei.errors import ExperienceError

GAMMA, LAM = 0.99, 0.9
MOST_BYTES_PER_ROW = 300
MILLION = 1_000_000


def filled(
    *shapes: tuple[int, int], capacity: int | None = None
) -> tuple[ExperienceBuffer, list[RolloutRows]]:
    rollouts = [random_rollout(seed, *shape) for seed, shape in enumerate(shapes)]
    buffer = ExperienceBuffer(capacity or sum(rows.action.size for rows in rollouts))
    for rows in rollouts:
        buffer.add_batch(rows)
    return buffer, rollouts


def python_calls(action: Callable[[], object]) -> int:
    """How many Python and C functions are called while ``action`` runs.

    The garbage collector waits: it would call what other libraries have it call, at any moment.
    """
    calls: Counter[str] = Counter()

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        calls[event] += 1

    gc.disable()
    sys.setprofile(count)
    try:
        action()
    finally:
        sys.setprofile(None)
        gc.enable()
    return calls["call"] + calls["c_call"]


def addresses(buffer: ExperienceBuffer) -> list[int]:
    tables = (buffer.rows, buffer.targets)
    return [array.ctypes.data for table in tables for array in table.arrays().values()]


def test_a_row_takes_at_most_300_bytes() -> None:
    buffer = ExperienceBuffer(1)
    assert buffer.bytes_per_row <= MOST_BYTES_PER_ROW
    assert buffer.nbytes == buffer.bytes_per_row


def test_a_million_rows_fit_in_300_megabytes() -> None:
    assert ExperienceBuffer(MILLION).nbytes <= MOST_BYTES_PER_ROW * MILLION


def test_rows_come_back_as_they_went_in_ply_by_ply() -> None:
    buffer, rollouts = filled((5, 3), (2, 4), capacity=40)
    assert len(buffer) == 5 * 3 + 2 * 4
    for name, array in buffer.rows.arrays().items():
        parts = [rows.arrays()[name].reshape(rows.action.size, -1) for rows in rollouts]
        np.testing.assert_array_equal(array.reshape(len(buffer), -1), np.concatenate(parts), err_msg=name)


def test_rows_that_were_written_in_place_are_those_of_a_copy() -> None:
    copied, (first, second) = filled((5, 3), (2, 4), capacity=40)
    written = ExperienceBuffer(40)
    written.add_batch(first)
    written.room(2, 4)[:] = second
    assert len(written) == 5 * 3
    written.take_in(2, 4, PlayedPositions.allocate(2, 4, 8, torch.device("cpu")))
    # Positions of a part of the rows are of no use.
    assert written.played is None
    for name, array in written.rows.arrays().items():
        np.testing.assert_array_equal(array, copied.rows.arrays()[name], err_msg=name)
    with pytest.raises(ExperienceError, match=r"no room for 6 × 3 rows: 23 of 40 are taken"):
        written.room(6, 3)


def test_f19_rows_enter_as_arrays_not_one_by_one() -> None:
    """The work outside of numpy does not depend on the number of rows."""
    small, large = random_rollout(0, 4, 4), random_rollout(0, 64, 256)
    into_small, into_large = ExperienceBuffer(4 * 4), ExperienceBuffer(64 * 256)
    calls = python_calls(lambda: into_small.add_batch(small))
    assert python_calls(lambda: into_large.add_batch(large)) == calls


def test_f20_the_buffer_never_allocates_again() -> None:
    buffer, _ = filled((8, 8), capacity=200)
    before = addresses(buffer)
    for seed in range(5):
        buffer.clear()
        buffer.add_batch(random_rollout(seed, 10, 10))
        buffer.add_batch(random_rollout(seed, 10, 10))
        buffer.compute_targets(gamma=GAMMA, lam=LAM)
    assert addresses(buffer) == before
    assert len(buffer) == 200


def test_f21_a_minibatch_is_one_array_per_column() -> None:
    """One gather per column, ready for one copy to the device each, however many rows it has."""
    buffer, _ = filled((64, 64))
    small, large = np.arange(4), np.arange(2048)
    assert python_calls(lambda: buffer.rows[small]) == python_calls(lambda: buffer.rows[large])
    for name, array in buffer.rows[large].arrays().items():
        assert array.flags.c_contiguous and len(array) == len(large), name


def test_a_rollout_that_does_not_fit_is_refused_and_changes_nothing() -> None:
    buffer, _ = filled((5, 3), capacity=20)
    before = buffer.rows.action.copy()
    with pytest.raises(ExperienceError, match=r"no room for 2 × 3 rows: 15 of 20 are taken"):
        buffer.add_batch(random_rollout(9, 2, 3))
    np.testing.assert_array_equal(buffer.rows.action, before)


@pytest.mark.parametrize("capacity", [0, -1])
def test_a_buffer_without_room_is_refused(capacity: int) -> None:
    with pytest.raises(ExperienceError, match=f"got capacity {capacity}"):
        ExperienceBuffer(capacity)


def test_rows_without_two_dimensions_are_refused() -> None:
    with pytest.raises(ExperienceError, match=r"expected rows \[T, N\].*\(4,\)"):
        ExperienceBuffer(10).add_batch(RolloutRows.allocate(4))


def test_a_row_cannot_end_in_two_ways() -> None:
    rows = random_rollout(0, 3, 3, end_share=0.0)
    rows.terminated[2, 1] = rows.truncated[2, 1] = True
    with pytest.raises(ExperienceError, match=r"row \[2, 1\] is both terminated and truncated"):
        ExperienceBuffer(10).add_batch(rows)


@pytest.mark.parametrize("ends", [True, False])
def test_g3_game_numbers_that_contradict_the_ends_are_refused(ends: bool) -> None:
    rows = random_rollout(0, 4, 3, end_share=0.0)
    if ends:
        rows.terminated[1, 2] = True
    else:
        rows.game[2:, 2] = 77
    with pytest.raises(ExperienceError, match=rf"rows \[1, 2\] and \[2, 2\].*ends = {ends}"):
        ExperienceBuffer(12).add_batch(rows)


def expected_targets(rows: RolloutRows) -> dict[str, np.ndarray]:
    gae = two_player_gae(
        rows.reward,
        rows.value,
        rows.next_value,
        rows.terminated,
        rows.truncated,
        rows.learner,
        gamma=GAMMA,
        lam=LAM,
    )
    return {
        "advantage": gae.advantages,
        "value": gae.returns,
        "draw": draw_mass(rows.reward, rows.terminated, rows.truncated, lam=LAM),
        "material": material_targets(rows),
        "moves_left": moves_left_targets(rows),
        "reply": reply_targets(rows),
    }


shapes = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 5)), min_size=1, max_size=4)


@settings(max_examples=40)
@given(shapes)
def test_g3_rollouts_of_different_workers_are_never_mixed(rollout_shapes: list[tuple[int, int]]) -> None:
    """The targets of many rollouts together are those of each one alone."""
    buffer, rollouts = filled(*rollout_shapes)
    buffer.compute_targets(gamma=GAMMA, lam=LAM)
    parts = [expected_targets(rows) for rows in rollouts]
    expected = {name: np.concatenate([part[name].reshape(-1) for part in parts]) for name in parts[0]}
    used = buffer.rows.learner & ~buffer.rows.forced
    expected["advantage"] = normalise_advantages(expected["advantage"], used)
    for name, array in buffer.targets.arrays().items():
        np.testing.assert_allclose(array, expected[name], rtol=1e-5, atol=1e-6, err_msg=name)


@settings(max_examples=40)
@given(shapes, st.integers(0, 4))
def test_merging_buffers_equals_adding_their_rollouts(
    rollout_shapes: list[tuple[int, int]], split: int
) -> None:
    together, rollouts = filled(*rollout_shapes)
    merged = ExperienceBuffer(len(together))
    workers = [ExperienceBuffer(len(together)) for _ in range(2)]
    for index, rows in enumerate(rollouts):
        workers[index >= split].add_batch(rows)
    merged.merge_buffers(workers)
    for buffer in (together, merged):
        buffer.compute_targets(gamma=GAMMA, lam=LAM)
    for one, other in ((merged.rows, together.rows), (merged.targets, together.targets)):
        for name, array in one.arrays().items():
            np.testing.assert_array_equal(array, other.arrays()[name], err_msg=name)


def test_merging_more_than_fits_is_refused() -> None:
    source, _ = filled((4, 4))
    with pytest.raises(ExperienceError, match="no room for 4 × 4 rows"):
        ExperienceBuffer(15).merge_buffers([source])


@given(st.integers(1, 60), st.integers(0, 2**32 - 1))
def test_an_epoch_is_whole_minibatches_of_different_learner_rows(size: int, seed: int) -> None:
    buffer, _ = filled((6, 5), (3, 4))
    learner_rows = set(np.flatnonzero(buffer.rows.learner).tolist())
    minibatches = list(buffer.minibatches(size, np.random.default_rng(seed)))
    drawn = [index for minibatch in minibatches for index in minibatch.tolist()]
    assert len(drawn) == len(set(drawn))
    assert set(drawn) <= learner_rows
    if size > len(learner_rows):
        assert [len(minibatch) for minibatch in minibatches] == [len(learner_rows)]
    else:
        assert {len(minibatch) for minibatch in minibatches} == {size}
        assert len(learner_rows) - len(drawn) < size


def test_the_rows_left_over_change_from_epoch_to_epoch() -> None:
    buffer, _ = filled((10, 10))
    generator = np.random.default_rng(0)
    seen: set[int] = set()
    for _ in range(20):
        seen.update(index for minibatch in buffer.minibatches(48, generator) for index in minibatch.tolist())
    assert seen == set(np.flatnonzero(buffer.rows.learner).tolist())


def test_the_order_follows_from_the_seed() -> None:
    buffer, _ = filled((10, 10))

    def order(seed: int) -> list[list[int]]:
        return [minibatch.tolist() for minibatch in buffer.minibatches(16, np.random.default_rng(seed))]

    assert order(1) == order(1)
    assert order(1) != order(2)


def test_a_rollout_without_learner_rows_gives_no_minibatch() -> None:
    buffer = ExperienceBuffer(20)
    buffer.add_batch(random_rollout(0, 4, 5, learner_share=0.0))
    buffer.compute_targets(gamma=GAMMA, lam=LAM)
    assert list(buffer.minibatches(8, np.random.default_rng(0))) == []
    assert not buffer.targets.advantage.any()


def test_clear_forgets_the_rows() -> None:
    buffer, _ = filled((3, 3))
    buffer.clear()
    assert len(buffer) == 0
    assert len(buffer.rows.action) == 0
    assert list(buffer.minibatches(4, np.random.default_rng(0))) == []
