"""What a worker does: it plays what the weights say, obeys at once, and counts itself."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from statistics import median

import numpy as np
import pytest
import torch
from thread_stage import Stage
from worker_samples import GAMES_PER_WORKER, PLIES, network, sample_config, until

from keisei.config_schema import AppConfig
from keisei.core.inference import Inference
from keisei.core.rollout import Rollout, RolloutSummary
from keisei.core.rollout_rows import RolloutRows
from keisei.training.environments import make_env, play_settings
from keisei.training.parallel.communication import SlotShape
from keisei.training.parallel.messages import Command, LoadState
from keisei.training.parallel.worker_status import WorkerState

SHAPE = SlotShape(PLIES, GAMES_PER_WORKER)
#: So long that it is surely under way when an order comes.
LONG = SlotShape(20_000, GAMES_PER_WORKER)
PROMPT_SECONDS = 0.1
ATTEMPTS = 5

MakeStage = Callable[..., Stage]


@pytest.fixture
def make_stage() -> Iterator[MakeStage]:
    stages: list[Stage] = []

    def make(shape: SlotShape = SHAPE, **changes: object) -> Stage:
        stages.append(Stage(sample_config(1, training__opponents__share=0.5, **changes), shape))
        return stages[-1]

    yield make
    for stage in stages:
        stage.close()


class Serial:
    """The same games without any worker: the oracle."""

    def __init__(self, config: AppConfig, *, seed: int = 1, games: int = GAMES_PER_WORKER) -> None:
        env = make_env(config, num_games=games, seed=seed, num_threads=1)
        self.rollout = Rollout(env, play_settings(config), seed=seed)
        self._config = config
        self._games = games

    def play(self, network_seed: int, version: int, opponent_seed: int | None = None) -> RolloutRows:
        rows = RolloutRows.allocate(PLIES, self._games)
        opponent = None if opponent_seed is None else self._inference(opponent_seed)
        self.rollout.play(rows, self._inference(network_seed), version=version, opponent=opponent)
        return rows

    def _inference(self, seed: int) -> Inference:
        return Inference(network(self._config, seed), device=torch.device("cpu"), precision="fp32")


def assert_equal_rows(one: RolloutRows, other: RolloutRows) -> None:
    for name, array in one.arrays().items():
        np.testing.assert_array_equal(array, other.arrays()[name], err_msg=name)


def test_rows_are_those_of_a_serial_rollout_with_the_same_seed(make_stage: MakeStage) -> None:
    stage = make_stage()
    serial = Serial(stage.config)
    for version in (1, 2, 3):
        opponent_seed = version + 10 if version > 1 else None
        if opponent_seed is not None:
            stage.opponent.publish(network(stage.config, opponent_seed).state_dict(), version)
        stage.publish(version, seed=version)
        stage.lend(version)
        slot, rows = stage.take()
        assert (slot.message.sequence, slot.message.version) == (version, version)
        assert slot.message.summary.plies == SHAPE.rows
        assert_equal_rows(rows, serial.play(version, version, opponent_seed))


def test_w4_nothing_is_played_before_the_first_weights(make_stage: MakeStage) -> None:
    stage = make_stage()
    stage.lend(min_version=0)
    stage.reaches(WorkerState.WAITING_FOR_WEIGHTS)
    assert stage.status.plies == 0
    stage.publish(1, seed=5)
    slot, rows = stage.take()
    assert slot.message.version == 1
    assert (rows.version == 1).all()
    assert_equal_rows(rows, Serial(stage.config).play(5, 1))


def test_w4_a_credit_that_asks_for_newer_weights_waits_for_them(make_stage: MakeStage) -> None:
    stage = make_stage()
    stage.publish(1)
    stage.lend(min_version=2)
    stage.reaches(WorkerState.WAITING_FOR_WEIGHTS)
    assert stage.status.plies == 0
    stage.publish(2)
    assert stage.take()[0].message.version == 2


def test_w5_of_several_waiting_versions_only_the_newest_is_unpacked(make_stage: MakeStage) -> None:
    stage = make_stage()
    stage.tell(Command.PAUSE)
    stage.lend()
    stage.reaches(WorkerState.PAUSED)
    for version in range(1, 6):
        stage.publish(version)
    stage.tell(Command.RESUME)
    assert stage.take()[0].message.version == 5
    assert stage.reader.unpacked == [5]


def waiting_for_slot(stage: Stage) -> None:
    stage.publish(1)
    stage.reaches(WorkerState.WAITING_FOR_SLOT)


def waiting_for_weights(stage: Stage) -> None:
    stage.lend()
    stage.reaches(WorkerState.WAITING_FOR_WEIGHTS)


def playing(stage: Stage) -> None:
    stage.publish(1)
    stage.lend()
    stage.plays(GAMES_PER_WORKER)


def paused_while_waiting(stage: Stage) -> None:
    stage.tell(Command.PAUSE)
    stage.reaches(WorkerState.PAUSED)


def paused_while_playing(stage: Stage) -> None:
    playing(stage)
    paused_while_waiting(stage)


SITUATIONS = [waiting_for_slot, waiting_for_weights, playing, paused_while_waiting, paused_while_playing]


@pytest.mark.parametrize("situation", SITUATIONS)
def test_w3_stop_is_obeyed_at_once_in_every_situation(
    situation: Callable[[Stage], None], make_stage: MakeStage
) -> None:
    seconds = []
    for _ in range(ATTEMPTS):
        stage = make_stage(LONG)
        situation(stage)
        stage.tell(Command.STOP)
        seconds.append(stage.reaches(WorkerState.STOPPED))
    assert median(seconds) < PROMPT_SECONDS


@pytest.mark.parametrize("situation", [waiting_for_slot, waiting_for_weights, playing])
def test_pause_and_resume_are_obeyed_at_once(
    situation: Callable[[Stage], None], make_stage: MakeStage
) -> None:
    stage = make_stage(LONG)
    situation(stage)
    before = stage.status.state
    seconds = []
    for _ in range(ATTEMPTS):
        stage.tell(Command.PAUSE)
        seconds.append(stage.reaches(WorkerState.PAUSED))
        plies = stage.status.plies
        stage.saved_state()  # an answer, and still nothing is played
        assert stage.status.plies == plies
        stage.tell(Command.RESUME)
        seconds.append(stage.reaches(before))
    assert median(seconds) < PROMPT_SECONDS


def test_a_pause_in_the_middle_of_a_slot_changes_no_row(make_stage: MakeStage) -> None:
    stage = make_stage()
    stage.publish(1)
    stage.lend()
    stage.tell(Command.PAUSE)
    stage.reaches(WorkerState.PAUSED)
    stage.tell(Command.RESUME)
    assert_equal_rows(stage.take()[1], Serial(stage.config).play(0, 1))


@pytest.mark.parametrize("situation", SITUATIONS)
def test_reset_is_obeyed_at_once_and_the_new_games_have_new_numbers(
    situation: Callable[[Stage], None], make_stage: MakeStage
) -> None:
    stage = make_stage(LONG)
    situation(stage)
    seen: set[int] = set()

    def games() -> set[int]:
        return set(stage.saved_state().state["games"]["game"].tolist())

    seconds = []
    for _ in range(ATTEMPTS):
        seen.update(games())
        stage.tell(Command.RESET)
        seconds.append(until(lambda: seen.isdisjoint(games())))
    assert median(seconds) < PROMPT_SECONDS


def test_a_reset_does_not_repeat_the_games(make_stage: MakeStage) -> None:
    stage = make_stage()
    stage.publish(1)
    stage.lend()
    first = stage.take()[1]
    stage.tell(Command.RESET)
    stage.lend()
    slot, second = stage.take()
    assert slot.message.sequence == 2
    assert second.game.min() > first.game.max()
    assert not np.array_equal(first.record[0], second.record[0]), "other seeds, other starts"


def test_plies_that_a_reset_throws_away_are_not_counted(make_stage: MakeStage) -> None:
    stage = make_stage(LONG)
    paused_while_playing(stage)
    assert stage.status.plies > 0
    stage.tell(Command.RESET)
    until(lambda: stage.status.plies == 0)
    assert stage.status.state is WorkerState.PAUSED


def test_saved_games_go_on_elsewhere_exactly(make_stage: MakeStage) -> None:
    first, second = make_stage(), make_stage(training__seed=99)
    for stage in (first, second):
        stage.publish(1)
    first.lend()
    first.take()
    second.tell(LoadState(first.saved_state().state))
    first.lend()
    second.lend()
    assert_equal_rows(first.take()[1], second.take()[1])


def test_games_are_loaded_before_a_reset_that_was_told_after(make_stage: MakeStage) -> None:
    first, second = make_stage(), make_stage(training__seed=99)
    for stage in (first, second):
        stage.publish(1)
    first.lend()
    first.take()
    second.tell(LoadState(first.saved_state().state))
    for stage in (first, second):
        stage.tell(Command.RESET)
        stage.lend()
    assert_equal_rows(first.take()[1], second.take()[1])


def test_w2_a_worker_counts_itself(make_stage: MakeStage) -> None:
    stage = make_stage()
    stage.publish(3)
    for _ in range(2):
        stage.lend(3)
    until(lambda: stage.status.slots == 2)  # without a single message having been read
    status = stage.status.read()
    assert (status.plies, status.version) == (2 * SHAPE.rows, 3)
    assert 0 < status.utilisation <= 1
    assert status.plies_per_second > 0


def test_g3_rows_of_one_game_lie_in_one_column_and_go_on_in_the_next_slot(make_stage: MakeStage) -> None:
    stage = make_stage()
    stage.publish(1)
    rows = []
    for _ in range(12):
        stage.lend()
        rows.append(stage.take()[1])
    columns = {
        game: {
            column for block in rows for column in np.flatnonzero((block.game == game).any(axis=0)).tolist()
        }
        for block in rows
        for game in np.unique(block.game).tolist()
    }
    assert all(len(where) == 1 for where in columns.values())
    for earlier, later in pairwise(rows):
        ended = earlier.ends()[-1]
        assert ((earlier.game[-1] == later.game[0]) == ~ended).all()
    assert any(block.ends().any() for block in rows), "some games ended, or nothing was tested"


def test_summaries_name_every_game_that_ended(make_stage: MakeStage) -> None:
    stage = make_stage()
    stage.publish(1)
    ends = finished = kept = 0
    for _ in range(12):
        stage.lend()
        slot, rows = stage.take()
        summary: RolloutSummary = slot.message.summary
        ends += int(rows.ends().sum())
        finished += len(summary.finished)
        kept += len(summary.kept)
        assert all(game.outcome is not None for game in summary.kept)
    assert finished == ends > 0
    assert kept > 0
