"""A rank's share of a run: the settings mean the same on any number of ranks."""

import pytest
from tiny_runs import tiny_config

from keisei.config_loader import effective_yaml, load_config
from keisei.core.rank_place import RankPlace
from keisei.errors import ConfigError
from keisei.training.rank_config import check_shares, config_of_rank

FIRST, SECOND = (RankPlace(rank, 2, rank, 2) for rank in range(2))
CONFIG = tiny_config(
    3,
    evaluation__opponents=["random"],
    evaluation__interval_updates=1,
    record__console="plain",
    record__trackers=["tensorboard"],
    training__guard__max_rollbacks=2,
    training__profile=True,
)


def test_one_process_alone_has_the_settings_of_the_run() -> None:
    assert config_of_rank(CONFIG, RankPlace(), 7) is CONFIG


def test_games_and_rows_are_shared_out() -> None:
    for place in (FIRST, SECOND):
        config = config_of_rank(CONFIG, place, 0)
        assert (config.env.num_games, config.training.minibatch_size) == (4, 16)
        assert config.rollout_rows == CONFIG.rollout_rows // 2
        assert config.training.total_plies == CONFIG.training.total_plies, "counted over all ranks"
        assert config.parallel.num_workers == 0


def test_the_first_keeps_the_record_and_decides_the_others_do_not() -> None:
    first, second = (config_of_rank(CONFIG, place, 0) for place in (FIRST, SECOND))
    assert (first.record, first.evaluation) == (CONFIG.record, CONFIG.evaluation)
    assert first.training.guard == CONFIG.training.guard
    assert (second.record.console, second.record.trackers, second.record.games_kept_per_update) == (
        "off",
        (),
        0,
    )
    assert second.evaluation.opponents == ()
    assert second.training.checkpoint_interval_updates == 0
    assert not second.training.profile
    assert second.training.guard.max_rollbacks == 0
    assert second.training.guard.learning_rate_factor == CONFIG.training.guard.learning_rate_factor


def test_the_settings_of_a_rank_are_valid_settings() -> None:
    for place in (FIRST, SECOND):
        config = config_of_rank(CONFIG, place, 3)
        assert type(config).model_validate(config.model_dump()) == config
        assert "seed" in effective_yaml(config)


def test_no_two_ranks_play_the_same_games_nor_one_after_a_resume() -> None:
    places = [RankPlace(rank, 4, rank, 4) for rank in range(4)]
    seeds = [config_of_rank(CONFIG, place, update).training.seed for place in places for update in (0, 9)]
    assert seeds[0] == seeds[1] == CONFIG.training.seed, "the first rank's games are in the checkpoint"
    offsets = {seed + half * CONFIG.parallel.seed_offset for seed in seeds for half in range(2)}
    assert len(offsets) == 2 * (len(seeds) - 1)
    assert seeds == [config_of_rank(CONFIG, place, u).training.seed for place in places for u in (0, 9)]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"env__num_games": 9}, "env.num_games 9 .* the 2 processes .* 8 say"),
        ({"training__minibatch_size": 31}, "training.minibatch_size 31 .* the 2 processes .* 30 say"),
        ({"parallel__num_workers": 2}, "parallel.num_workers is 2.*0 or auto"),
        ({"training__device": "cuda:1"}, "training.device 'cuda:1'.*set training.device to cuda or auto"),
    ],
)
def test_what_ranks_cannot_share_is_refused(changes: dict[str, object], words: str) -> None:
    config = tiny_config(4, **changes)
    check_shares(config, RankPlace())
    with pytest.raises(ConfigError, match=words):
        check_shares(config, FIRST)


def test_threads_are_shared_out_unless_they_are_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keisei.training.rank_config.available_cores", lambda: 16)
    auto = load_config(None, {"training.device": "cpu"}).config
    assert config_of_rank(auto, SECOND, 0).env.num_threads == 8
    assert config_of_rank(auto, RankPlace(30, 64, 30, 64), 0).env.num_threads == 1
    assert config_of_rank(CONFIG, SECOND, 0).env.num_threads == 1
