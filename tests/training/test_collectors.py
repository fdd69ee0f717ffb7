"""Who plays the games of a run: the trainer itself, or workers."""

import pytest
import torch
from tiny_runs import tiny_config

from keisei.core.ppo_agent import PPOAgent
from keisei.errors import ConfigError
from keisei.evaluation.opponent_pool import OpponentPool
from keisei.training.collector import InProcessCollector
from keisei.training.collectors import make_collector


def test_overrides_may_name_more_workers_than_this_machine_has_cores() -> None:
    config = tiny_config(
        1,
        parallel__num_workers="auto",
        training__device="cpu",
        parallel__worker_overrides=["0-63: training.temperature=1.2"],
    )
    make_collector(config, PPOAgent(config, torch.device("cpu")), OpponentPool(1, 1)).close()


def test_without_workers_the_trainer_plays_itself() -> None:
    config = tiny_config(1, parallel__num_workers=0)
    collector = make_collector(config, PPOAgent(config, torch.device("cpu")), OpponentPool(1, 1))
    assert isinstance(collector, InProcessCollector)


@pytest.mark.parametrize(
    "wrong",
    [
        {"env__starts__sfen_file": "absent.sfen"},
        {"parallel__worker_overrides": ["1: env.starts.sfen_file=absent.sfen env.starts.sfens=1"]},
    ],
    ids=["of all", "of one"],
)
def test_wrong_settings_are_refused_before_a_worker_is_started(wrong: dict[str, object]) -> None:
    config = tiny_config(1, parallel__num_workers=2, **wrong)
    with pytest.raises(ConfigError, match=r"absent\.sfen"):
        make_collector(config, PPOAgent(config, torch.device("cpu")), OpponentPool(1, 1))
