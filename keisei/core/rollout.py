"""Self-play: the only code that plays games for learning, serial and parallel alike.

A rollout plays T plies in each of N games and writes them into `RolloutRows` [T, N]. Games go on from one rollout to
the next. With a mirroring environment some games are seen left-right mirrored from their first ply to their last, by
the network and in the rows alike: the rows are what the policy really saw.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from keisei.core.inference import Inference
from keisei.core.rollout_rows import RolloutRows
from keisei.core.sampling import draw_actions
from keisei.core.seating import WHITE_MOVES_BIT, Anchor, Seating, SeatingSettings
from keisei.shogi import NO_ACTION, REASONS, LegalActions, ShogiGame, ShogiVectorEnv
from keisei.shogi.vector_env import RECORD_FLAGS

Winner = Literal["black", "white"]


class FinishedGame(NamedTuple):
    """How a game of the rollout ended."""

    winner: Winner | None
    reason: str
    plies: int
    #: Whom the learner played; empty where it played itself.
    opponent: str = ""
    #: The learner's: 1, ½ or 0; None where it played itself.
    points: float | None = None
    #: The number of the frozen opponent that played it from its first ply to its last; 0 where there is none.
    frozen: int = 0


class CutOff(NamedTuple):
    """Games that the ply cap ended at one ply of the rollout."""

    ply: int
    games: NDArray[np.intp]
    finals: NDArray[np.uint8]  # [len(games), 96], the positions they ended in


@dataclass
class RolloutSummary:
    """What happened in one rollout besides its rows."""

    plies: int = 0
    finished: list[FinishedGame] = field(default_factory=list)
    #: Some of the finished games, whole.
    kept: list[ShogiGame] = field(default_factory=list)
    #: The stop signal came before the last ply: the rows are incomplete and must not be used.
    stopped: bool = False


@dataclass(frozen=True)
class PlaySettings:
    """How games are played for learning."""

    mate_in_one: bool
    opponent_share: float
    temperature: float
    games_kept: int
    anchor_share: float = 0.0
    #: Whether anchors are drawn by how close games with them are, instead of all alike.
    by_closeness: bool = False


def _never() -> bool:
    return False


class Rollout:
    """Plays the games of one vector environment with a network, and in some of them against somebody else.

    Every ply costs one evaluation: of the learner, or of the frozen opponent, or none where an anchor moves.
    """

    def __init__(
        self,
        env: ShogiVectorEnv,
        settings: PlaySettings,
        *,
        seed: int,
        first_game: int = 0,
        anchors: Sequence[Anchor] = (),
    ) -> None:
        self.env = env
        self._settings = settings
        self._random = np.random.default_rng(seed)
        self._sampler = torch.Generator().manual_seed(int(self._random.integers(2**63)))
        games = env.num_games
        self._next_game = first_game
        self._game = np.zeros(games, np.int64)
        self._length = np.zeros(games, np.int64)
        shares = SeatingSettings(settings.opponent_share, settings.anchor_share, settings.by_closeness)
        self._seating = Seating(env, shares, anchors)
        self._begin(np.arange(games))

    def play(
        self,
        rows: RolloutRows,
        learner: Inference,
        *,
        version: int,
        opponent: Inference | None = None,
        opponent_number: int = 1,
        should_stop: Callable[[], bool] = _never,
    ) -> RolloutSummary:
        """Fills rows [T, N]; every row carries the version of the weights that chose it.

        ``opponent_number`` (above 0) tells one frozen opponent from another, so that results are credited to the right
        one.
        """
        self.seat_frozen(0 if opponent is None else opponent_number)
        summary, cut_off = self.play_all(
            rows, lambda ply: self._play_ply(rows[ply], learner, opponent, version), should_stop
        )
        if not summary.stopped:
            self.bootstrap(rows, learner.values(self.env.records), learner.values, cut_off)
        return summary

    def seat_frozen(self, number: int) -> None:
        """From now on the frozen opponent of this number (above 0) plays its part; with 0 the learner takes it."""
        self._seating.seat_frozen(number, self._length == 0)

    def play_all(
        self, rows: RolloutRows, play_ply: Callable[[int], None], should_stop: Callable[[], bool]
    ) -> tuple[RolloutSummary, list[CutOff]]:
        """All plies of ``rows`` [T, N], each by ``play_ply``: how games ended, and those that the cap cut off."""
        summary = RolloutSummary()
        cut_off: list[CutOff] = []
        for ply in range(len(rows.action)):
            if should_stop():
                summary.stopped = True
                return summary, cut_off
            play_ply(ply)
            self._note_ends(ply, summary, cut_off)
        summary.plies = rows.action.size
        return summary, cut_off

    def _play_ply(
        self, row: RolloutRows, learner: Inference, opponent: Inference | None, version: int
    ) -> None:
        self.open_ply(row, version)
        records, lists = self.env.records, self.env.legal
        frozen = self._seating.frozen_moves(row.learner)
        for inference, moving in ((learner, row.learner), (opponent, frozen)):
            if inference is None or not moving.any():
                continue
            # Rows of all games need no copy; an index would make one.
            part = slice(None) if moving.all() else np.flatnonzero(moving)
            evaluation = inference.evaluate(
                records[part], LegalActions(lists.actions[part], lists.counts[part])
            )
            log_probs = self._at_temperature(evaluation.log_probs)
            actions = self._choose(log_probs, part, row.forced)
            row.action[part] = actions
            chosen = torch.from_numpy(actions.astype(np.int64)).to(log_probs.device)
            row.log_prob[part] = log_probs.gather(1, chosen[:, None]).squeeze(1).cpu().numpy()
            row.value[part] = evaluation.value.cpu().numpy()
        self.close_ply(row)

    def open_ply(self, row: RolloutRows, version: int) -> None:
        """Writes what is known before the moves are chosen."""
        env = self.env
        row.record[:] = env.records
        row.game[:] = self._game
        row.version[:] = version
        row.learner[:] = self._seating.learner_moves()
        row.forced[:] = env.mate_in_one != NO_ACTION if self._settings.mate_in_one else False

    def close_ply(self, row: RolloutRows) -> None:
        """Plays the chosen actions, those of the anchors too, and writes what they led to."""
        self._seating.play_anchors(row, self._random)
        self.env.step(row.action)
        row.reward[:] = self.env.rewards
        row.terminated[:] = self.env.terminated
        row.truncated[:] = self.env.truncated
        row.next_value[:] = 0

    def _at_temperature(self, log_probs: Tensor) -> Tensor:
        """The policy that is really played from; its log-probabilities are those that the rows record."""
        if self._settings.temperature == 1:
            return log_probs
        return (log_probs / self._settings.temperature).log_softmax(dim=1)

    def _choose(
        self, log_probs: Tensor, part: slice | NDArray[np.intp], forced: NDArray[np.bool_]
    ) -> NDArray[np.int32]:
        """One action a row: drawn from the policy, or the mate in one."""
        actions = draw_actions(log_probs.cpu(), self._sampler).numpy().astype(np.int32)
        mates = forced[part]
        if mates.any():
            actions[mates] = self.env.mate_in_one[part][mates]
        return actions

    def _note_ends(self, ply: int, summary: RolloutSummary, cut_off: list[CutOff]) -> None:
        """Tells of the games that the ply ended, and begins others in their place."""
        env = self.env
        self._length += 1
        ended = np.flatnonzero(env.terminated | env.truncated)
        if not len(ended):
            return
        truncated = np.flatnonzero(env.truncated)
        if len(truncated):
            cut_off.append(CutOff(ply, truncated, env.final_records[truncated]))
        for game in ended:
            summary.finished.append(self._finished(int(game)))
            if len(summary.kept) < self._settings.games_kept:
                summary.kept.append(env.finished_game(int(game)))
        self._begin(ended)

    def _finished(self, game: int) -> FinishedGame:
        env = self.env
        reason = REASONS[env.reasons[game]]
        if reason is None:
            raise RuntimeError(f"game {game} ended without a reason: the environment's arrays are damaged")
        winner: Winner | None = None
        if env.rewards[game] != 0:
            white_moved = not env.final_records[game, RECORD_FLAGS] & WHITE_MOVES_BIT
            winner = "white" if white_moved == (env.rewards[game] > 0) else "black"
        return FinishedGame(
            winner,
            reason.value,
            int(self._length[game]),
            self._seating.opponent_of(game),
            self._seating.points(game, winner),
            self._seating.whole_against(game),
        )

    def _begin(self, games: NDArray[np.intp]) -> None:
        """Numbers new games and draws who plays."""
        count = len(games)
        self._game[games] = np.arange(self._next_game, self._next_game + count)
        self._next_game += count
        self._length[games] = 0
        self._seating.begin(games, self._random)

    def bootstrap(
        self,
        rows: RolloutRows,
        last_values: NDArray[np.float32],
        values_of: Callable[[NDArray[np.uint8]], NDArray[np.float32]],
        cut_off: Sequence[CutOff],
    ) -> None:
        """Values behind the last row, and by ``values_of`` of the true final positions that the ply cap cut off."""
        rows.next_value[-1] = last_values
        if not cut_off:
            return
        values = values_of(np.concatenate([cut.finals for cut in cut_off]))
        start = 0
        for cut in cut_off:
            rows.next_value[cut.ply, cut.games] = values[start : start + len(cut.finals)]
            start += len(cut.finals)

    def watched_game(self, index: int = 0) -> ShogiGame:
        """A copy of a game in flight, for people to look at."""
        return self.env.game(index)

    # ---- to go on exactly where a checkpoint was written

    def generators(self) -> Mapping[str, np.random.Generator | torch.Generator]:
        return {"rollout": self._random, "sampler": self._sampler, **self._seating.generators()}

    def state_arrays(self) -> dict[str, NDArray[Any]]:
        return {
            "env": np.frombuffer(self.env.save_state(), np.uint8),
            "next_game": np.array([self._next_game]),
            "game": self._game.copy(),
            "length": self._length.copy(),
            **self._seating.state_arrays(),
        }

    def load_state_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.env.load_state(np.ascontiguousarray(arrays["env"], np.uint8).tobytes())
        self._next_game = int(arrays["next_game"][0])
        self._game[:] = arrays["game"]
        self._length[:] = arrays["length"]
        self._seating.load_state_arrays(arrays)
