"""Published weights: versioned, whole, latest wins."""

import threading

import pytest
import torch
from torch import Tensor

from keisei.errors import WorkerFailedError
from keisei.training.parallel import ModelSynchronizer


def weights(value: float) -> dict[str, Tensor]:
    return {"a": torch.full((64, 65), value), "b": torch.full((3,), value)}


def test_nothing_is_there_before_the_first_version() -> None:
    with ModelSynchronizer(weights(0)) as synchronizer:
        mine = weights(-1)
        assert synchronizer.version == 0
        assert synchronizer.fetch(mine, newer_than=0) is None
        assert torch.equal(mine["a"], weights(-1)["a"])


def test_w5_the_newest_version_is_fetched_and_older_ones_never() -> None:
    with ModelSynchronizer(weights(0)) as synchronizer:
        for version in (1, 2, 3, 7):
            synchronizer.publish(weights(version), version)
        mine = weights(-1)
        assert synchronizer.fetch(mine, newer_than=0) == 7
        assert all(torch.equal(mine[name], weights(7)[name]) for name in mine)
        assert synchronizer.fetch(mine, newer_than=7) is None


@pytest.mark.parametrize("version", [3, 2, 0])
def test_versions_only_grow(version: int) -> None:
    with ModelSynchronizer(weights(0)) as synchronizer:
        synchronizer.publish(weights(3), 3)
        with pytest.raises(WorkerFailedError, match=f"weights of version {version} cannot follow version 3"):
            synchronizer.publish(weights(9), version)
        mine = weights(-1)
        assert synchronizer.fetch(mine, newer_than=0) == 3
        assert torch.equal(mine["a"], weights(3)["a"])


def test_the_cost_of_publishing_is_measured() -> None:
    with ModelSynchronizer(weights(0)) as synchronizer:
        for version in range(1, 5):
            synchronizer.publish(weights(version), version)
        assert synchronizer.syncs == 4
        assert 0 < synchronizer.sync_seconds < 10


def test_a_reader_never_sees_a_mixture_of_versions() -> None:
    versions, readers = 3000, 3
    with ModelSynchronizer(weights(0)) as synchronizer:
        mixtures: list[dict[str, Tensor]] = []
        fetched = [0] * readers

        def read(index: int) -> None:
            mine, version = weights(-1), 0
            while version < versions:
                newer = synchronizer.fetch(mine, newer_than=version)
                if newer is None:
                    continue
                if any(not torch.equal(mine[name], weights(newer)[name]) for name in mine):
                    mixtures.append(mine)
                    return
                fetched[index] += 1
                version = newer

        threads = [threading.Thread(target=read, args=(index,)) for index in range(readers)]
        for thread in threads:
            thread.start()
        for version in range(1, versions + 1):
            synchronizer.publish(weights(version), version)
        for thread in threads:
            thread.join()
        assert not mixtures
        assert all(fetched), fetched
