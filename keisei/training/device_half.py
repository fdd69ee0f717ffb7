"""One half of the games on a GPU: the card thinks about them while the CPU plays the other half."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from keisei.core.device_player import DevicePlayer, Place, Positions
from keisei.core.played_positions import PlayedPositions
from keisei.core.random_states import capture_random_states, restore_random_states
from keisei.core.rollout import Rollout, RolloutSummary
from keisei.core.rollout_rows import RolloutRows

#: Where a half's part of a checkpoint holds the dice of the frozen opponent; one without opponents has none.
OPPONENT_DICE = "opponent"


@dataclass
class DeviceHalf:
    """Games with the players that choose their moves."""

    games: slice  # its columns of the rollout
    rollout: Rollout
    player: DevicePlayer
    opponent: DevicePlayer | None  # the frozen network's
    judge: DevicePlayer  # the learner's network, for the few positions in which games are cut off
    played: PlayedPositions  # its columns
    #: The learner thinks about the first ply of the next rollout already.
    _is_asked: bool = field(default=False, init=False)

    def think_ahead(self) -> None:
        """Ask about the first ply of the next rollout: behind all that the card has still to do."""
        if not self._is_asked:
            self.player.ask(Positions.of(self.rollout.env), Place(self.played, 0))
            self._is_asked = True

    def play(
        self, rows: RolloutRows, version: int, opponent_number: int, should_stop: Callable[[], bool]
    ) -> RolloutSummary:
        """One rollout, written into the columns of ``rows`` that are this half's."""
        rows = rows[:, self.games]
        self.rollout.seat_frozen(opponent_number)
        summary, cut_off = self.rollout.play_all(
            rows, lambda ply: self._play_ply(rows[ply], ply, version), should_stop
        )
        if not summary.stopped:
            self.player.ask(Positions.of(self.rollout.env))
            self.rollout.bootstrap(rows, self.player.answer().value, self.judge.values, cut_off)
        return summary

    def _play_ply(self, row: RolloutRows, ply: int, version: int) -> None:
        self.rollout.open_ply(row, version)
        if not self._is_asked:
            self.player.ask(Positions.of(self.rollout.env), Place(self.played, ply))
        self._is_asked = False
        # Before the learner's answer is waited for: the card goes on to the opponent's question by itself.
        if self.opponent is not None:
            self._play_opponent(self.opponent, row, ply)
        for column, chosen in zip((row.action, row.log_prob, row.value), self.player.answer(), strict=True):
            np.copyto(column, chosen, where=row.learner)
        self.rollout.close_ply(row)

    def _play_opponent(self, opponent: DevicePlayer, row: RolloutRows, ply: int) -> None:
        """Writes the opponent's moves where it is to move, as many at once as it has places for."""
        positions, moving = Positions.of(self.rollout.env), np.flatnonzero(~row.learner)
        for start in range(0, len(moving), opponent.capacity):
            games = moving[start : start + opponent.capacity]
            opponent.ask(positions.chosen(games), Place(self.played, ply, games))
            row.action[games], row.log_prob[games], row.value[games] = opponent.answer()

    @property
    def bytes_uploaded(self) -> int:
        players = (self.player, self.opponent, self.judge)
        return sum(player.bytes_uploaded for player in players if player is not None)

    # ---- state

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = {
            "games": self.rollout.state_arrays(),
            "random": capture_random_states(self._generators()),
        }
        if self.opponent is not None:
            state[OPPONENT_DICE] = self.opponent.generator.get_state()
        return state

    def load_state(self, state: Mapping[str, Any]) -> None:
        self._is_asked = False
        self.rollout.load_state_arrays(state["games"])
        restore_random_states(state["random"], self._generators())
        # An opponent that had no part in those games begins with dice of its own.
        if self.opponent is not None and OPPONENT_DICE in state:
            self.opponent.generator.set_state(state[OPPONENT_DICE])

    def _generators(self) -> dict[str, Any]:
        return {**self.rollout.generators(), "player": self.player.generator}
