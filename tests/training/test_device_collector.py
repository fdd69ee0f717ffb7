"""Collection for a GPU in its CPU twin: two halves of the games, each in a thread of its own."""

import itertools
from collections.abc import Callable
from pathlib import Path
from threading import Event

import numpy as np
import pytest
import torch
from tiny_runs import ROWS, content_hash, latest, new_run, tiny_config, train
from torch import Tensor

from keisei.core import device_player
from keisei.core.device_positions import PositionTables, planes_of
from keisei.core.device_rows import DeviceRows, Uploader
from keisei.core.device_targets import TargetMaker
from keisei.core.devices import OutOfMemory
from keisei.core.experience_buffer import ExperienceBuffer
from keisei.core.ppo_agent import PPOAgent
from keisei.core.ranks import ALONE
from keisei.core.rollout import FinishedGame
from keisei.core.rollout_rows import RolloutRows
from keisei.errors import CompilerError
from keisei.evaluation.opponent_pool import OpponentPool
from keisei.record.journal_reader import JournalReader
from keisei.shogi.policy import action_count
from keisei.shogi.positions import legal_actions, legal_mask_bits
from keisei.training.device_collector import HALVES, DeviceCollector
from keisei.training.frozen_network import PLACES_STEP

CPU = torch.device("cpu")
LONGEST_WAIT_SECONDS = 60
#: Both sides hold so much that lists are as long as those of a strong network's games.
MANY_MOVES = "lnsgkgs1l/9/pppppp1pp/9/9/9/PPPPPP1PP/9/L1SGKGSNL b RBNrbn 1"


class Table:
    """A collector with its agent and a pool, which is empty at first: the learner takes both parts."""

    def __init__(self, **changes: object) -> None:
        self.config = tiny_config(1, **changes)
        self.agent = PPOAgent(self.config, CPU)
        self.pool = OpponentPool(1, 1)
        self.collector = DeviceCollector(self.config, self.agent, self.pool)
        self.buffer = ExperienceBuffer(ROWS)

    def meet(self, frozen: PPOAgent, version: int = 1) -> None:
        """All games against the pool meet this one from now on."""
        self.pool.add(version, frozen.network.state_dict())

    def collect(
        self, version: int = 1, *, stop: bool = False, before_ply: Callable[[], object] = lambda: None
    ) -> ExperienceBuffer:
        """``before_ply`` is called before each ply of the first half."""
        self.buffer.clear()

        def should_stop() -> bool:
            before_ply()
            return stop

        summary = self.collector.collect(self.buffer, version=version, should_stop=should_stop)
        assert summary.stopped == stop
        assert summary.plies == (0 if stop else ROWS)
        return self.buffer

    def collect_first_half_last(self, version: int) -> ExperienceBuffer:
        """The other half plays its last ply before this one plays its first."""
        other = self.collector._other_thread
        return self.collect(version, before_ply=lambda: other.submit(int).result())

    def collect_first_half_first(self, version: int) -> ExperienceBuffer:
        """The other half begins when only the last ply of this one is left."""
        is_free, plies = Event(), itertools.count(1)
        self.collector._other_thread.submit(is_free.wait, LONGEST_WAIT_SECONDS)

        def free() -> None:
            if next(plies) == self.config.training.rollout_plies:
                is_free.set()

        return self.collect(version, before_ply=free)


def other_agent(seed: int = 2) -> PPOAgent:
    return PPOAgent(tiny_config(1, training__seed=seed), CPU)


def against_another(**changes: object) -> Table:
    table = Table(training__opponents__share=0.8, **changes)
    table.meet(other_agent())
    return table


def assert_thought_by(agent: PPOAgent, rows: RolloutRows) -> None:
    """That log-probabilities and values of rows [R] are those of an agent's network."""
    evaluation = agent.inference.evaluate(rows.record)
    actions = torch.from_numpy(rows.action.astype(np.int64))[:, None]
    chosen = evaluation.log_probs.gather(1, actions).squeeze(1)
    np.testing.assert_allclose(rows.log_prob, chosen.numpy(), atol=1e-5)
    np.testing.assert_allclose(rows.value, evaluation.value.numpy(), atol=1e-5)


def columns_of(buffer: ExperienceBuffer) -> dict[str, np.ndarray]:
    return {name: array.copy() for name, array in buffer.rows.arrays().items()}


@pytest.fixture
def table() -> Table:
    return Table()


def test_rows_are_legal_and_of_one_version_and_their_positions_stay_on_the_device(table: Table) -> None:
    rows, played = table.collect(version=7).rows, table.buffer.played
    assert set(rows.version.tolist()) == {7}
    assert rows.learner.all()
    bits = legal_mask_bits(rows.record, action_count(table.config.env.actions))
    assert (bits[np.arange(ROWS), rows.action // 8] >> (rows.action % 8) & 1).all()
    assert played is not None
    assert np.array_equal(played.record.flatten(0, 1).numpy(), rows.record)
    assert np.array_equal(played.legal.flatten(0, 1).numpy(), bits)
    for name in ("action", "log_prob", "value"):
        assert np.array_equal(getattr(played, name).flatten().numpy(), getattr(rows, name)), name


def test_rows_tell_what_the_network_thought(table: Table) -> None:
    assert_thought_by(table.agent, table.collect().rows)


def test_rows_tell_what_the_network_that_moved_thought_and_so_does_the_device() -> None:
    table = against_another()
    # Another network each time, by the same players.
    for version, frozen in enumerate((other_agent(), other_agent(3)), start=1):
        table.meet(frozen, version)
        rows, played = table.collect(version).rows, table.buffer.played
        assert 0 < rows.learner.sum() < ROWS
        assert_thought_by(table.agent, rows[rows.learner])
        assert_thought_by(frozen, rows[~rows.learner])
        assert played is not None
        for name in ("action", "log_prob", "value"):
            assert np.array_equal(getattr(played, name).flatten().numpy(), getattr(rows, name)), name


def test_targets_on_the_device_are_those_of_the_host() -> None:
    table = against_another()
    for version in (1, 2, 3):
        buffer = table.collect(version)
        buffer.compute_targets(gamma=0.99, lam=0.9)
        make_targets = TargetMaker(table.agent.inference.tables, ALONE.add_up, is_alone=True)
        found = DeviceRows.upload(buffer, Uploader(CPU), table.agent.num_actions, 1, make_targets)
        for name, expected in buffer.targets.arrays().items():
            column = getattr(found, name).numpy()
            np.testing.assert_allclose(column, expected, atol=1e-4, err_msg=name)


def test_no_two_games_have_the_same_number(table: Table) -> None:
    games = table.collect().rows.game.reshape(table.config.training.rollout_plies, -1)
    own, other = np.array_split(games, HALVES, axis=1)
    assert not np.intersect1d(own, other).size


@pytest.mark.parametrize("make_table", [Table, against_another])
def test_the_learner_learns_from_what_was_played_there(make_table: Callable[[], Table]) -> None:
    table = make_table()
    buffer = table.collect()
    buffer.compute_targets(gamma=0.99, lam=0.9)
    metrics = table.agent.learn(buffer, 0.0)
    assert metrics["gradient_steps"] > 0
    assert metrics["first_ratio_deviation"] < 1e-4


@pytest.mark.parametrize("make_table", [Table, against_another])
def test_which_thread_is_faster_changes_nothing(make_table: Callable[[], Table]) -> None:
    free, first, last = make_table(), make_table(), make_table()
    for version in (1, 2, 3):
        expected = columns_of(free.collect(version))
        for found in (first.collect_first_half_first(version), last.collect_first_half_last(version)):
            rows = columns_of(found)
            assert all(np.array_equal(rows[name], expected[name]) for name in expected)


def test_a_stopped_rollout_leaves_no_rows_and_play_goes_on(table: Table) -> None:
    assert len(table.collect(stop=True)) == 0
    assert len(table.collect()) == ROWS


def test_a_full_device_is_known_by_its_class(table: Table) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`")

    table.agent.network.register_forward_pre_hook(refuse)
    with pytest.raises(OutOfMemory, match="ALLOC_FAILED"):
        table.collect()


@pytest.mark.parametrize("make_table", [Table, against_another])
def test_what_was_saved_while_the_learner_learned_goes_on_exactly(make_table: Callable[[], Table]) -> None:
    table = make_table()
    table.collect()
    table.collector.meanwhile()
    state = table.collector.state()
    expected = {name: array.copy() for name, array in table.collect(2).rows.arrays().items()}
    fresh = make_table()
    fresh.collector.load_state(state)
    found = fresh.collect(2).rows.arrays()
    assert all(np.array_equal(expected[name], found[name]) for name in expected)
    assert state is not table.collector.state(), "a ply later the saved state is no longer the state"


@pytest.mark.parametrize("make_table", [Table, against_another])
def test_thinking_ahead_changes_nothing_but_the_time(make_table: Callable[[], Table]) -> None:
    plain, ahead = make_table(), make_table()
    for version in (1, 2, 3):
        expected = columns_of(plain.collect(version))
        found = columns_of(ahead.collect(version))
        assert all(np.array_equal(expected[name], found[name]) for name in expected)
        ahead.collector.think_ahead()
    state, questions = ahead.collector.state(), ahead.collector.bytes_uploaded
    ahead.collector.think_ahead()
    assert ahead.collector.bytes_uploaded == questions, "it thinks already"
    expected = columns_of(plain.collect(4))
    fresh = make_table()
    fresh.collector.load_state(state)
    for resumed in (ahead, fresh):
        found = columns_of(resumed.collect(4))
        assert all(np.array_equal(expected[name], found[name]) for name in expected)


def test_what_was_thought_ahead_with_weights_that_are_gone_is_not_played(table: Table) -> None:
    table.collect()
    table.collector.think_ahead()
    state = table.collector.state()
    other = PPOAgent(tiny_config(1, training__seed=2), CPU)
    table.agent.network.load_state_dict(other.network.state_dict())
    table.collector.load_state(state)
    rows = table.collect(2).rows
    np.testing.assert_allclose(rows.value, other.inference.evaluate(rows.record).value.numpy(), atol=1e-5)


@pytest.mark.parametrize(("share_before", "share_after"), [(0, 0.8), (0.8, 0)])
def test_games_go_on_when_opponents_are_switched_on_or_off(
    share_before: float, share_after: float, caplog: pytest.LogCaptureFixture
) -> None:
    before, after = (Table(training__opponents__share=share) for share in (share_before, share_after))
    for table in (before, after):
        table.meet(other_agent())
    before.collect()
    after.collector.load_state(before.collector.state())
    assert not caplog.text
    rows = [table.collect(2).rows.game[: table.config.env.num_games] for table in (before, after)]
    assert np.array_equal(*rows), "the same games"
    if share_after:
        assert any(not after.collect(version).rows.learner.all() for version in range(3, 8))
    else:
        assert after.buffer.rows.learner.all()


def test_results_against_a_version_are_credited_to_it() -> None:
    table = Table(training__opponents__share=1)
    table.meet(other_agent(), version=7)
    games: list[FinishedGame] = []
    for version in range(1, 7):
        table.buffer.clear()
        collect = table.collector.collect
        games += collect(table.buffer, version=version, should_stop=lambda: False).finished
    whole = [game.points for game in games if game.frozen == 7]
    expected = OpponentPool(1, 1)
    expected.add(7, {})
    for points in whole:
        assert points is not None
        expected.note_result(7, points)
    assert len(set(whole)) > 1
    assert table.pool.state()["tallies"] == expected.state()["tallies"]


def test_a_stopped_rollout_credits_nobody() -> None:
    table = against_another(env__max_plies=2)
    plies = itertools.count(1)
    buffer = ExperienceBuffer(ROWS)
    table.collector.collect(buffer, version=1, should_stop=lambda: next(plies) > 6)
    assert len(buffer) == 0
    assert not table.pool.state()["tallies"]


def test_the_games_of_another_kind_of_run_are_left_alone(
    table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    table.collector.load_state({"0": {}})
    assert "the games of 1 players, this run has 2" in caplog.text
    assert len(table.collect()) == ROWS


def test_another_number_of_games_is_begun_anew_and_that_is_said(
    table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    fewer = Table(env__num_games=6, training__minibatch_size=8)
    table.collector.load_state(fewer.collector.state())
    assert "the checkpoint holds 6 games, this run has 8: new games begin" in caplog.text
    assert len(table.collect()) == ROWS


def test_a_ply_costs_no_more_than_300_bytes_where_lists_are_long(tmp_path: Path) -> None:
    """All that a GPU would be sent: to play, to compute targets from, and the indices of minibatches."""
    starts = tmp_path / "starts.sfen"
    starts.write_text(MANY_MOVES)
    plies, games = 16, 64
    table = Table(
        env__num_games=games,
        env__max_plies=320,
        env__starts__sfen_file=starts,
        env__starts__earlier=0,
        training__rollout_plies=plies,
        training__total_plies=plies * games,
        training__minibatch_size=256,
    )
    buffer = ExperienceBuffer(plies * games)
    table.collector.collect(buffer, version=1, should_stop=lambda: False)
    played = table.collector.status()["uploaded_bytes_per_ply"]
    buffer.compute_targets(gamma=0.99, lam=0.9)
    send, tables = Uploader(CPU), table.agent.inference.tables
    make_targets = TargetMaker(tables, ALONE.add_up, is_alone=True)
    rows = DeviceRows.upload(buffer, send, table.agent.num_actions, 1, make_targets)
    step = table.agent._step_on(buffer, rows, table.agent.loss_weights(0.0))
    for indices in buffer.minibatches(256, np.random.default_rng(1)):
        step(indices)
    assert legal_actions(buffer.rows.record, table.agent.num_actions).counts.mean() > 75
    assert played > 250, "positions and lists are the most of it"
    assert played + (send.bytes_sent + table.agent.bytes_uploaded) / len(buffer) <= 300


def test_bytes_are_told_by_ply_without_those_of_the_check(table: Table) -> None:
    lists = table.collect().rows.record
    counts = legal_actions(lists, table.agent.num_actions).counts.reshape(
        table.config.training.rollout_plies, -1
    )
    told = table.collector.status()["uploaded_bytes_per_ply"]
    least = 96 + 4 + 2 + 2 * counts.mean()
    # Besides the plies, the positions behind the last one and those of games that were cut off are asked about.
    assert least < told < 2 * least
    assert table.collector.status()["uploaded_bytes_per_ply"] == 0


def test_bytes_sent_to_the_frozen_network_are_counted() -> None:
    alone, both = Table(training__opponents__share=0.8), against_another()
    told = []
    for table in (alone, both):
        table.collect()
        told.append(table.collector.status()["uploaded_bytes_per_ply"])
    frozen = (~both.buffer.rows.learner).mean()
    assert told[1] > told[0] + frozen * (96 + 4 + 2 + 8)


def test_a_frozen_player_that_sees_another_board_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def planes(records: Tensor, tables: PositionTables) -> Tensor:
        drawn = planes_of(records, tables)
        return drawn.flip(1) if len(records) == PLACES_STEP else drawn

    monkeypatch.setattr(device_player, "planes_of", planes)
    games = HALVES * (PLACES_STEP + 1)
    changes = {"env__num_games": games, "training__rollout_plies": 1, "training__total_plies": games}
    Table(**changes, training__opponents__share=0)
    with pytest.raises(CompilerError, match="differ from the plain network's"):
        Table(**changes, training__opponents__share=0.5)


@pytest.mark.parametrize(("share", "plays"), [(0, False), (0.5, True)])
def test_the_pool_is_filled_where_somebody_meets_it(share: float, plays: bool) -> None:
    assert Table(training__opponents__share=share).collector.plays_frozen() is plays


def test_a_whole_run_meets_earlier_versions_and_goes_on_exactly_when_it_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keisei.training.trainer.make_collector", DeviceCollector)
    whole, stopped = new_run(tmp_path, "whole"), new_run(tmp_path, "stopped")
    config = tiny_config(8, training__opponents__share=0.8)
    train(whole, config)
    train(stopped, config, stop_after=5)
    train(stopped, config, resume=True)
    assert content_hash(latest(whole)) == content_hash(latest(stopped))
    with JournalReader(whole.journal_path) as journal:
        assert journal.series("score_frozen")


@pytest.mark.parametrize(
    ("changes", "can"),
    [
        ({"training__opponents__share": 0}, True),
        ({"training__opponents__share": 0.5}, True),
        (
            {
                "training__opponents__share": 0,
                "training__opponents__anchor_share": 0.5,
                "training__opponents__anchors": ["greedy"],
            },
            False,
        ),
        ({"training__opponents__share": 0, "env__num_games": 1, "training__minibatch_size": 1}, False),
    ],
)
def test_only_games_between_networks_are_captured(changes: dict[str, object], can: bool) -> None:
    assert DeviceCollector.can_play(tiny_config(1, **changes)) is can
