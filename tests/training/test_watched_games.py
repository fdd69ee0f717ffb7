"""Watched games: chosen from the rows, followed over updates, in their true frame, and not too often."""

import numpy as np
import pytest
import torch
from tiny_runs import GAMES, PLIES, ROWS, tiny_config

from keisei.core.experience_buffer import ExperienceBuffer
from keisei.core.ppo_agent import PPOAgent
from keisei.core.rollout_rows import RolloutRows
from keisei.evaluation.opponent_pool import OpponentPool
from keisei.shogi import ShogiGame
from keisei.training.collector import InProcessCollector
from keisei.training.watched_games import (
    EARLIER_NAME,
    OVER,
    PATIENCE_LOOKS,
    PLIES_PER_SECOND,
    GameWatcher,
    Sighting,
)

CAP = 24
UPDATES_PER_GAME = CAP // PLIES


class Theatre:
    """A watcher with a clock to set, and games to watch."""

    def __init__(self, **changes: object) -> None:
        standard = {"env__starts__standard": 1, "env__starts__sfens": 0, "env__starts__sfen_file": None}
        config = tiny_config(1, **{**standard, "env__starts__earlier": 0, "env__max_plies": CAP, **changes})
        self.agent = PPOAgent(config, torch.device("cpu"))
        self.pool = OpponentPool(4, 1)
        self.collector = InProcessCollector(config, self.agent, self.pool)
        self.now = 0.0
        self.watcher = GameWatcher(config, self.agent, clock=lambda: self.now)

    def rows(self) -> RolloutRows:
        buffer = ExperienceBuffer(ROWS)
        self.collector.collect(buffer, version=1, should_stop=lambda: False)
        return buffer.rows

    def look(self, updates: int = 1) -> Sighting:
        total = Sighting()
        for _ in range(updates):
            seen = self.watcher.look(self.rows())
            total.plies += seen.plies
            total.kept += seen.kept
        return total


@pytest.mark.parametrize("flip", [False, True])
def test_a_game_is_followed_from_the_standard_start_to_its_end(flip: bool) -> None:
    theatre = Theatre(training__flip=flip)
    for _ in range(6):
        seen = theatre.look(UPDATES_PER_GAME)
        (kept,) = seen.kept
        theatre.now += 1000
        replayed = ShogiGame(max_plies=CAP)
        assert len(kept.thoughts) == len(kept.game.moves) == len(seen.plies)
        for ply, usi in zip(seen.plies, kept.game.moves, strict=True):
            # The mirror image of a game would have its rook and bishop exchanged.
            assert (ply.sfen, ply.move) == (replayed.sfen, usi)
            replayed.play(usi)
        assert replayed.outcome is not None
        assert kept.game.reason == replayed.outcome.reason.value
        assert [ply.ending for ply in seen.plies[:-1]] == [""] * (len(seen.plies) - 1)
        assert seen.plies[-1].ending == "draw, max plies"


def test_thoughts_are_the_values_that_were_recorded_and_the_policy_of_the_network() -> None:
    theatre = Theatre(training__flip=False)
    rows = theatre.rows()
    plies = theatre.watcher.look(rows).plies
    watched = np.flatnonzero(rows.game == plies[0].game)
    assert [ply.thought.value for ply in plies] == pytest.approx(rows.value[watched].tolist(), abs=1e-4)
    best = theatre.agent.select_action(rows.record[watched])
    mapper = theatre.watcher._mapper
    for ply, action in zip(plies, best, strict=True):
        game = ShogiGame(ply.sfen)
        assert ply.thought.policy[0][0] == mapper.index_to_move(int(action), game).usi
        assert {usi for usi, _ in ply.thought.policy} <= {move.usi for move in game.legal_moves()}
        assert sum(share for _, share in ply.thought.policy) <= 1.001


def test_a_board_rests_until_its_last_game_could_have_been_watched() -> None:
    theatre = Theatre()
    assert theatre.look(UPDATES_PER_GAME).kept
    assert theatre.look(2).plies == []
    theatre.now = CAP / PLIES_PER_SECOND
    assert theatre.look(UPDATES_PER_GAME).plies


def test_a_game_whose_worker_died_is_given_up() -> None:
    theatre = Theatre()
    theatre.look()
    theatre.now = 1000.0
    rows = theatre.rows()
    rows.game[:] += 10**6  # other games, and none of them begins here
    rows.record[:, 90] += 1
    for _ in range(PATIENCE_LOOKS + 1):
        assert theatre.watcher.look(rows).plies == []
    fresh = Theatre()
    assert theatre.watcher.look(fresh.rows()).plies


def test_a_gap_in_the_rows_does_not_make_a_game_of_what_is_left() -> None:
    theatre = Theatre()
    theatre.look()
    theatre.rows()  # refused by the learner, as rows that are too old
    seen = theatre.look()
    assert seen.kept == []
    assert seen.plies[-1].ending == OVER


def test_without_games_from_the_standard_start_others_are_watched_and_not_kept() -> None:
    theatre = Theatre(env__starts__standard=0, env__starts__handicap=1)
    seen = theatre.look(UPDATES_PER_GAME)
    assert len(seen.plies) > PLIES
    assert seen.kept == []


def test_the_frozen_opponent_has_a_name_of_its_own() -> None:
    theatre = Theatre(training__opponents__share=1)
    theatre.pool.add(1, theatre.agent.network.state_dict())
    (kept,) = theatre.look(UPDATES_PER_GAME).kept
    assert sorted({kept.game.black, kept.game.white}) == ["keisei", EARLIER_NAME]


@pytest.mark.parametrize(("games", "boards"), [(GAMES, 1), (64, 2), (1024, 4)])
def test_a_small_share_of_the_games_is_watched(games: int, boards: int) -> None:
    config = tiny_config(games, env__num_games=games)
    watcher = GameWatcher(config, PPOAgent(config, torch.device("cpu")))
    assert len(watcher._games) == boards
