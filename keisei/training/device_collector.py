"""Self-play with the network on a GPU: the card thinks about one half of the games while the CPU plays the other.

Each half has a thread of its own: while one of them writes rows, the engine steps the games of the other. A half owns
all that its plies depend on, so who is faster changes nothing.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event
from typing import Any

import torch

from keisei.config_schema import AppConfig
from keisei.core.device_player import DevicePlayer, PlayedPositions
from keisei.core.devices import full_device_named
from keisei.core.experience_buffer import ExperienceBuffer
from keisei.core.player_check import check_player
from keisei.core.ppo_agent import PPOAgent
from keisei.core.random_states import capture_random_states, restore_random_states
from keisei.core.rollout import Rollout, RolloutSummary
from keisei.core.rollout_rows import RolloutRows
from keisei.shogi import ShogiGame
from keisei.training.collector import saved_games
from keisei.training.environments import make_env, play_settings, thread_count

HALVES = 2
log = logging.getLogger(__name__)
#: Games of the halves are numbered apart from each other.
GAME_NUMBERS_PER_HALF = 1 << 48


@dataclass
class _Half:
    """The games that are played while the card thinks about the others."""

    games: slice  # its columns of the rollout
    rollout: Rollout
    player: DevicePlayer
    played: PlayedPositions  # its columns

    def play(self, rows: RolloutRows, version: int, should_stop: Callable[[], bool]) -> RolloutSummary:
        """One rollout, written into the columns of ``rows`` that are this half's."""
        rows = rows[:, self.games]
        summary, cut_off = self.rollout.play_all(
            rows, lambda ply: self._play_ply(rows[ply], ply, version), should_stop
        )
        if not summary.stopped:
            self.player.ask()
            self.rollout.bootstrap(rows, self.player.answer().value, self.player.values, cut_off)
        return summary

    def _play_ply(self, row: RolloutRows, ply: int, version: int) -> None:
        self.rollout.open_ply(row, version, against=False)
        self.player.ask(self.played, ply)
        moves = self.player.answer()
        row.action[:] = moves.action
        row.log_prob[:] = moves.log_prob
        row.value[:] = moves.value
        self.rollout.close_ply(row)


class DeviceCollector:
    """The trainer plays the games itself, with the learner's own network on its device."""

    @staticmethod
    def can_play(config: AppConfig) -> bool:
        """Whether the learner plays all games against itself; other players are no part of the captured graph."""
        opponents = config.training.opponents
        return config.env.num_games >= HALVES and not opponents.share and not opponents.anchor_share

    def __init__(self, config: AppConfig, agent: PPOAgent) -> None:
        training = config.training
        games, plies = config.env.num_games, training.rollout_plies
        self._agent = agent
        self._games_kept = config.record.games_kept_per_update
        card = _card_of(agent.device)
        _choose_card(card)
        self._other_thread = ThreadPoolExecutor(1, "games", _choose_card, (card,))
        #: The state since the last ply, where it has been taken.
        self._saved: dict[str, Any] | None = None
        self._shape = plies, games
        self._played = PlayedPositions.allocate(plies, games, agent.num_actions, agent.device)
        self._halves = [
            self._half(config, agent, half, slice(half * games // HALVES, (half + 1) * games // HALVES))
            for half in range(HALVES)
        ]
        # Without those of the check.
        self._told_bytes = self.bytes_uploaded

    def _half(self, config: AppConfig, agent: PPOAgent, half: int, games: slice) -> _Half:
        training = config.training
        seed = training.seed + half * config.parallel.seed_offset
        env = make_env(
            config, num_games=games.stop - games.start, seed=seed, num_threads=thread_count(config)
        )
        player = DevicePlayer(
            agent.inference,
            env,
            temperature=training.temperature,
            seed=seed,
            is_compiled=training.compile,
        )
        check_player(player)
        return _Half(
            games,
            Rollout(env, play_settings(config), seed=seed, first_game=half * GAME_NUMBERS_PER_HALF),
            player,
            self._played.columns(games),
        )

    @property
    def bytes_uploaded(self) -> int:
        """Bytes that were copied to the device so far, to play and to learn."""
        return self._agent.bytes_uploaded + sum(half.player.bytes_uploaded for half in self._halves)

    @full_device_named()
    def collect(
        self, buffer: ExperienceBuffer, *, version: int, should_stop: Callable[[], bool]
    ) -> RolloutSummary:
        """Plays one rollout; ``should_stop`` is asked in this thread only."""
        self._saved = None
        own, other = self._halves
        rows = buffer.room(*self._shape)
        is_over = Event()
        pending = self._other_thread.submit(other.play, rows, version, is_over.is_set)
        try:
            summary = own.play(rows, version, should_stop)
        except BaseException:
            is_over.set()
            raise
        if summary.stopped:
            is_over.set()
        summary = _merged(summary, pending.result(), self._games_kept)
        if not summary.stopped:
            buffer.take_in(*self._shape, self._played)
        return summary

    def plays_frozen(self) -> bool:
        return False

    def watched_game(self) -> ShogiGame:
        return self._halves[0].rollout.watched_game()

    def status(self) -> dict[str, float]:
        uploaded, self._told_bytes = self.bytes_uploaded - self._told_bytes, self.bytes_uploaded
        return {"uploaded_bytes_per_ply": uploaded / math.prod(self._shape)}

    def details(self) -> dict[str, Any]:
        return {}

    def meanwhile(self) -> None:
        if self._saved is None:
            self._saved = self._state()

    def state(self) -> dict[str, Any]:
        return self._state() if self._saved is None else self._saved

    def _state(self) -> dict[str, Any]:
        return {
            str(number): {
                "games": half.rollout.state_arrays(),
                "random": capture_random_states(self._generators(half)),
            }
            for number, half in enumerate(self._halves)
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        self._saved = None
        if set(state) != {str(number) for number in range(HALVES)}:
            log.warning(
                "the checkpoint holds the games of %d players, this run has %d: new games begin",
                len(state),
                HALVES,
            )
            return
        saved, games = sum(map(saved_games, state.values())), self._shape[1]
        if saved != games:
            log.warning("the checkpoint holds %d games, this run has %d: new games begin", saved, games)
            return
        for number, half in enumerate(self._halves):
            part = state[str(number)]
            half.rollout.load_state_arrays(part["games"])
            restore_random_states(part["random"], self._generators(half))

    def _generators(self, half: _Half) -> dict[str, Any]:
        return {**half.rollout.generators(), "player": half.player.generator}

    def close(self) -> None:
        self._other_thread.shutdown()


def _card_of(device: torch.device) -> int | None:
    """The number of the card; None for a CPU."""
    if device.type != "cuda":
        return None
    return torch.cuda.current_device() if device.index is None else device.index


def _choose_card(card: int | None) -> None:
    """Streams and graphs belong to the card that a thread has chosen."""
    if card is not None:
        torch.cuda.set_device(card)


def _merged(one: RolloutSummary, other: RolloutSummary, games_kept: int) -> RolloutSummary:
    return RolloutSummary(
        plies=one.plies + other.plies,
        finished=one.finished + other.finished,
        kept=(one.kept + other.kept)[:games_kept],
        stopped=one.stopped or other.stopped,
    )
