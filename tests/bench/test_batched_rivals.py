import numpy as np

from keisei.bench.batched_rivals import choose_by_mask


def test_every_true_column_is_chosen_alike_and_no_other() -> None:
    rng = np.random.default_rng(0)
    mask = np.zeros((3, 7), np.bool_)
    mask[0, 2] = True
    mask[1, [0, 6]] = True
    mask[2, :] = True
    chosen = np.stack([choose_by_mask(mask, rng) for _ in range(3_000)])
    assert set(chosen[:, 0]) == {2}
    assert set(chosen[:, 1]) == {0, 6}
    counts = np.bincount(chosen[:, 2], minlength=7)
    assert np.all(np.abs(counts - 3_000 / 7) < 5 * np.sqrt(3_000 / 7))
