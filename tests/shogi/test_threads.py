"""The engine from several Python threads at once. `make sanitize` runs this under ThreadSanitizer."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import pytest

from keisei.shogi import ShogiVectorEnv, Starts, positions

THREADS = 4
BOARDS = 64
STEPS = 60


def play(seed: int, num_threads: int) -> npt.NDArray[np.uint8]:
    """Steps, saves, goes back and plays on: all that an environment does."""
    starts = Starts(standard=1, random_prefix=1, earlier=1)
    env = ShogiVectorEnv(BOARDS, seed, num_threads, starts=starts, max_plies=80, mate_in_one=True)
    for _ in range(STEPS):
        env.step(env.random_actions())
    saved = env.save_state()
    env.play_random(STEPS)
    env.load_state(saved)
    env.play_random(STEPS)
    return env.records


def test_environments_in_several_threads_do_not_disturb_each_other() -> None:
    seeds = range(THREADS)
    alone = [play(seed, num_threads=1) for seed in seeds]
    with ThreadPoolExecutor(THREADS) as pool:
        together = list(pool.map(lambda seed: play(seed, num_threads=THREADS), seeds))
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("actions", ["2187", "13527"])
def test_batches_read_by_many_threads_are_those_read_by_one(actions: str) -> None:
    records = np.tile(play(seed=7, num_threads=1), (10, 1))
    one = positions.legal_actions(records, actions, num_threads=1)
    many = positions.legal_actions(records, actions, num_threads=THREADS)
    np.testing.assert_array_equal(one.counts, many.counts)
    for row, count in enumerate(one.counts):
        np.testing.assert_array_equal(one.actions[row, :count], many.actions[row, :count])
    for unpack in (positions.unpack_planes, positions.unpack_planes_uint8):
        np.testing.assert_array_equal(unpack(records), unpack(records, num_threads=THREADS))
    mask = positions.legal_masks(records, actions)
    np.testing.assert_array_equal(mask, positions.legal_masks(records, actions, num_threads=THREADS))
    np.testing.assert_array_equal(mask, positions.masks_from_lists(many, actions, num_threads=THREADS))
