"""Self-play with the network on a GPU: the card thinks about one half of the games while the CPU plays the other.

Each half has a thread of its own: while one of them writes rows, the engine steps the games of the other. A half owns
all that its plies depend on, so who is faster changes nothing. Of the frozen opponent both read the same weights, which
change only between rollouts.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import torch

from keisei.config_schema import AppConfig
from keisei.core.device_player import DevicePlayer
from keisei.core.devices import full_device_named
from keisei.core.experience_buffer import ExperienceBuffer
from keisei.core.inference import Inference
from keisei.core.played_positions import PlayedPositions
from keisei.core.player_check import check_player
from keisei.core.ppo_agent import PPOAgent
from keisei.core.rollout import Rollout, RolloutSummary
from keisei.evaluation.opponent_pool import OpponentPool
from keisei.shogi import ShogiGame, ShogiVectorEnv
from keisei.training.collector import credit, saved_games
from keisei.training.device_half import DeviceHalf
from keisei.training.environments import make_env, play_settings, thread_count
from keisei.training.frozen_network import FrozenNetwork, places_for

HALVES = 2
#: Positions of games that are cut off which are judged together.
JUDGED_AT_ONCE = 64
log = logging.getLogger(__name__)
#: Games of the halves are numbered apart from each other.
GAME_NUMBERS_PER_HALF = 1 << 48


class DeviceCollector:
    """The trainer plays the games itself, with the learner's own network on its device."""

    @staticmethod
    def can_play(config: AppConfig) -> bool:
        """Whether only networks play; anchors are no part of a captured graph."""
        return config.env.num_games >= HALVES and not config.training.opponents.anchor_share

    def __init__(self, config: AppConfig, agent: PPOAgent, pool: OpponentPool) -> None:
        training = config.training
        games, plies = config.env.num_games, training.rollout_plies
        self._config = config
        self._agent = agent
        self._pool = pool
        self._frozen = FrozenNetwork(agent, training.precision) if self.plays_frozen() else None
        card = _card_of(agent.device)
        _choose_card(card)
        self._other_thread = ThreadPoolExecutor(1, "games", _choose_card, (card,))
        #: The state since the last ply, where it has been taken.
        self._saved: dict[str, Any] | None = None
        self._shape = plies, games
        self._played = PlayedPositions.allocate(plies, games, agent.num_actions, agent.device)
        self._halves = [
            self._half(half, slice(half * games // HALVES, (half + 1) * games // HALVES))
            for half in range(HALVES)
        ]
        # Without those of the check.
        self._told_bytes = self.bytes_uploaded

    def _half(self, half: int, columns: slice) -> DeviceHalf:
        config, games = self._config, columns.stop - columns.start
        training = config.training
        seed = self._seed(half)
        env = make_env(config, num_games=games, seed=seed, num_threads=thread_count(config))
        network = self._agent.inference
        player = self._player(network, games, seed, env)
        opponent = None
        if self._frozen is not None:
            places = places_for(training.opponents.share, games)
            opponent = self._player(self._frozen.inference, places, self._seed(HALVES + half), env)
        return DeviceHalf(
            columns,
            Rollout(env, play_settings(config), seed=seed, first_game=half * GAME_NUMBERS_PER_HALF),
            player,
            opponent,
            # Not worth compiling, and it draws no lots.
            DevicePlayer(network, min(games, JUDGED_AT_ONCE), temperature=training.temperature, seed=seed),
            self._played.columns(columns),
        )

    def _seed(self, part: int) -> int:
        """The halves', then those of the opponents that they meet."""
        return self._config.training.seed + part * self._config.parallel.seed_offset

    def _player(self, inference: Inference, capacity: int, seed: int, env: ShogiVectorEnv) -> DevicePlayer:
        training = self._config.training
        player = DevicePlayer(
            inference, capacity, temperature=training.temperature, seed=seed, is_compiled=training.compile
        )
        check_player(player, env)
        return player

    @property
    def bytes_uploaded(self) -> int:
        """Bytes that were copied to the device so far, to play and to learn."""
        return self._agent.bytes_uploaded + sum(half.bytes_uploaded for half in self._halves)

    @full_device_named()
    def collect(
        self, buffer: ExperienceBuffer, *, version: int, should_stop: Callable[[], bool]
    ) -> RolloutSummary:
        """Plays one rollout; ``should_stop`` is asked in this thread only.

        All games against the pool meet the snapshot that it draws.
        """
        self._saved = None
        opponent_number = self._draw_opponent()
        own, other = self._halves
        rows = buffer.room(*self._shape)
        is_over = Event()
        pending = self._other_thread.submit(other.play, rows, version, opponent_number, is_over.is_set)
        try:
            summary = own.play(rows, version, opponent_number, should_stop)
        except BaseException:
            is_over.set()
            raise
        if summary.stopped:
            is_over.set()
        summary = _merged(summary, pending.result(), self._config.record.games_kept_per_update)
        if not summary.stopped:
            buffer.take_in(*self._shape, self._played)
            credit(self._pool, summary)
        return summary

    def _draw_opponent(self) -> int:
        """Has the frozen network take the weights of a snapshot: its version, 0 where there is none."""
        snapshot = None if self._frozen is None else self._pool.draw()
        if self._frozen is None or snapshot is None:
            return 0
        self._frozen.become(snapshot)
        return snapshot.version

    def plays_frozen(self) -> bool:
        return self._config.training.opponents.share > 0

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

    def think_ahead(self) -> None:
        # The dice as they were before: a checkpoint of the update asks again.
        self.meanwhile()
        for half in self._halves:
            half.think_ahead()

    def state(self) -> dict[str, Any]:
        return self._state() if self._saved is None else self._saved

    def _state(self) -> dict[str, Any]:
        return {str(number): half.state() for number, half in enumerate(self._halves)}

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
            half.load_state(state[str(number)])

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
