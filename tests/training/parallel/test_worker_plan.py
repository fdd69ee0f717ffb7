"""From the configuration to workers, and what is refused before any of them exists."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from worker_samples import sample_config

from keisei.config_schema import AppConfig
from keisei.errors import ConfigError
from keisei.training.parallel import ParallelManager, worker_plan
from keisei.training.parallel.worker_plan import (
    WORKER_MEMORY_BYTES,
    WorkerPlan,
    first_game,
    resolve_workers,
    worker_configs,
    worker_seed,
)

GIB = 2**30
MODES = st.sampled_from(["sync", "async"])


@given(
    workers=st.integers(1, 8),
    share=st.integers(1, 6),
    games=st.integers(1, 8),
    lag=st.integers(1, 3),
    mode=MODES,
)
def test_an_update_keeps_its_size_however_it_is_shared_out(
    workers: int, share: int, games: int, lag: int, mode: str
) -> None:
    config = sample_config(
        workers,
        env__num_games=workers * share * games,
        parallel__games_per_worker=games,
        parallel__mode=mode,
        parallel__max_lag=lag,
    )
    plan = WorkerPlan.of(config)
    assert plan.slots_per_update * plan.shape.rows == config.rollout_rows
    assert plan.slots_per_worker * workers >= plan.slots_per_update
    assert plan.max_lag == (lag if mode == "async" else 0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_workers": 0}, "there are no workers to manage"),
        ({"num_workers": 3, "env__num_games": 8}, "env.num_games 8 cannot be shared out evenly to .* 3"),
        ({"num_workers": 2, "env__num_games": 8, "parallel__games_per_worker": 3}, "no multiple of .* 3"),
        (
            {"num_workers": 8, "env__num_games": 8, "parallel__games_per_worker": 4},
            "8 workers cannot share the 2",
        ),
        (
            {"parallel__mode": "async", "parallel__model_sync_interval": 2},
            "contradicts parallel.mode 'async'",
        ),
        (
            {"parallel__timeout_seconds": 5, "parallel__heartbeat_timeout_seconds": 5},
            "one hung worker would end all",
        ),
        (
            {"num_workers": 0, "parallel__worker_overrides": ["0: training.temperature=2"]},
            "needs workers but parallel.num_workers is 0",
        ),
    ],
)
def test_what_cannot_work_is_refused_with_advice(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        WorkerPlan.of(sample_config(**changes))  # type: ignore[arg-type]


def test_more_workers_than_memory_allows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_plan, "available_memory_bytes", lambda: 2 * GIB)
    plan = WorkerPlan.of(sample_config(4))
    plan.check_memory(weights_bytes=0)
    with pytest.raises(
        ConfigError, match=r"100 workers .* need about 24\.4 GiB, but 2\.0 GiB are free; lower"
    ):
        WorkerPlan.of(sample_config(100)).check_memory(weights_bytes=0)
    with pytest.raises(ConfigError, match=r"lower parallel\.num_workers"):
        plan.check_memory(weights_bytes=GIB)


def test_workers_that_leave_need_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_plan, "available_memory_bytes", lambda: 0)
    plan = WorkerPlan.of(sample_config(4))
    plan.check_memory_for_more(-2, weights_bytes=GIB)
    with pytest.raises(ConfigError, match="1 workers"):
        plan.check_memory_for_more(1, weights_bytes=0)


def test_an_update_that_does_not_fit_into_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_plan, "available_memory_bytes", lambda: 2 * GIB)
    config = sample_config(1, env__num_games=4096, training__rollout_plies=8192, training__total_plies=10**9)
    with pytest.raises(ConfigError, match=r"training\.rollout_plies \(8192\)"):
        WorkerPlan.of(config).check_memory(weights_bytes=0)


def resolved(games: int, **changes: object) -> int:
    return resolve_workers(sample_config("auto", env__num_games=games, training__device="cpu", **changes))


def test_auto_is_one_worker_a_core_as_far_as_games_and_memory_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_plan, "available_cores", lambda: 6)
    monkeypatch.setattr(worker_plan, "available_memory_bytes", lambda: 16 * GIB)
    assert (resolved(12), resolved(128), resolved(5)) == (6, 4, 5)
    assert resolved(7) == 0, "one worker would be slower than threads"
    monkeypatch.setattr(worker_plan, "available_memory_bytes", lambda: 4 * WORKER_MEMORY_BYTES)
    assert resolved(12) == 3, "their rows and weights need room too"
    monkeypatch.setattr(worker_plan, "available_memory_bytes", lambda: WORKER_MEMORY_BYTES // 2)
    assert resolved(12) == 0, "rather in-process than not at all"
    monkeypatch.undo()
    monkeypatch.setattr(worker_plan, "available_cores", lambda: 1)
    assert resolved(7) == 1


@given(cores=st.integers(1, 9), games=st.integers(1, 40), per_worker=st.integers(0, 9), mode=MODES)
def test_auto_never_chooses_what_is_then_refused(cores: int, games: int, per_worker: int, mode: str) -> None:
    slot_games = games * per_worker or games
    changes = {"parallel__games_per_worker": per_worker, "parallel__mode": mode}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(worker_plan, "available_cores", lambda: cores)
        patched.setattr(worker_plan, "available_memory_bytes", lambda: 16 * GIB)
        workers = resolved(slot_games, **changes)
        assert workers <= cores
        if workers:
            ParallelManager(sample_config("auto", env__num_games=slot_games, **changes)).stop_workers()


def test_auto_leaves_the_games_to_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    assert resolve_workers(sample_config("auto")) == 0
    assert resolve_workers(sample_config(3)) == 3


def test_workers_can_have_settings_of_their_own() -> None:
    config = sample_config(
        4,
        parallel__worker_overrides=[
            "1-2: training.temperature=1.5 training.opponents.share=0.25",
            "2: env.starts.standard=1 env.starts.random_prefix=0",
        ],
    )
    configs = worker_configs(config)
    assert sorted(configs) == [1, 2]
    assert [configs[worker].training.temperature for worker in (1, 2)] == [1.5, 1.5]
    assert configs[1].training.opponents.share == 0.25
    assert (configs[1].env.starts, configs[2].env.starts.random_prefix) == (config.env.starts, 0)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("training.temperature=2", "expected 'WORKER: key=value"),
        ("0: model.channels=8", "'model.channels' .* cannot differ between workers"),
        (
            "0: training.temperatur=2",
            "unknown key 'training.temperatur' .*did you mean 'training.temperature'",
        ),
        ("2: training.temperature=2", r"expected workers from 0 to 1.*num_workers \(2\)"),
        ("1-0: training.temperature=2", "the lower number first"),
        ("0-999999999: training.temperature=2", "expected workers from 0 to 1"),
        ("0: training.temperature=hot", "expected number > 0"),
    ],
)
def test_overrides_that_mean_nothing_are_refused(entry: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        worker_configs(sample_config(2, parallel__worker_overrides=[entry]))


def test_overrides_may_name_more_workers_than_auto_finds() -> None:
    config = sample_config("auto", parallel__worker_overrides=["0-1023: training.temperature=2"])
    assert len(worker_configs(config)) == 1024
    with pytest.raises(ConfigError, match="expected workers from 0 to 1023"):
        worker_configs(sample_config("auto", parallel__worker_overrides=["1024: training.temperature=2"]))


def test_the_first_life_of_the_first_worker_has_the_seed_and_the_games_of_a_serial_run() -> None:
    config = sample_config(training__seed=17)
    assert worker_seed(config, 0, 1) == 17
    assert first_game(0, 1) == 0


@given(st.lists(st.tuples(st.integers(0, 1023), st.integers(1, 5000)), min_size=2, max_size=50, unique=True))
def test_g3_no_two_lives_share_a_seed_or_a_game_number(lives: list[tuple[int, int]]) -> None:
    config = AppConfig()
    seeds = {worker_seed(config, *life) for life in lives}
    assert len(seeds) == len(lives)
    assert all(0 <= seed < 2**64 for seed in seeds)
    starts = sorted(first_game(*life) for life in lives)
    games_of_one_life = 2**32
    assert all(later - earlier >= games_of_one_life for earlier, later in pairwise(starts))
    assert starts[-1] + games_of_one_life < 2**63
