"""The public names of the room, under the paths that the requirements give."""

import pytest

import keisei.core.model_factory
import keisei.core.networks
import keisei.training
from keisei.training import models


def test_networks_are_found_beside_the_trainer_too() -> None:
    assert models.ActorCritic is keisei.core.networks.ActorCritic
    assert models.model_factory is keisei.core.model_factory.model_factory
    assert set(models.__all__) <= set(dir(models))


@pytest.mark.parametrize("name", ["Trainer", "TrainingLoopManager"])
def test_the_run_is_found_in_its_room(name: str) -> None:
    assert getattr(keisei.training, name).__name__ == name


def test_other_names_are_not_there() -> None:
    with pytest.raises(AttributeError, match="Coach"):
        _ = keisei.training.Coach
