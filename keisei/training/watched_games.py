"""A few games of self-play for people to watch, picked from the rows that the learner takes in anyway.

The rows tell positions, moves and values of every game, whoever played it; only the likeliest moves are asked of the
network again, for the watched games alone. A board takes its next game when the last one could have been watched at
`PLIES_PER_SECOND`, so that a faster machine does not spend more on watching.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from keisei.config_schema import AppConfig
from keisei.core.inference import Inference
from keisei.core.ppo_agent import PPOAgent
from keisei.core.rollout_rows import RolloutRows
from keisei.record.journal_schema import Game, Thought, WatchedPly
from keisei.shogi import Color, Outcome, PolicyOutputMapper, ShogiGame
from keisei.shogi.positions import mirror_records

LEARNER_NAME: Final = "keisei"
EARLIER_NAME: Final = "keisei, earlier"
MAX_BOARDS: Final = 4
#: One game in so many at most is watched: what that costs is lost in the noise.
GAMES_PER_BOARD: Final = 32
PLIES_PER_SECOND: Final = 2.0
TOP_MOVES: Final = 4
#: Updates after which a game that shows no more rows is given up: its worker may have died.
PATIENCE_LOOKS: Final = 8
#: The bytes of a packed position that say what stands where and who moves; the ply follows.
POSITION_BYTES: Final = 90
PLY_BYTES: Final = slice(90, 92)
#: Positions are put to the network in batches of this size: one shape, for which its kernels are tuned once.
BATCH_ROWS: Final = 64
DIGITS: Final = 4
#: The end of a game that was not seen whole.
OVER: Final = "over"


class KeptGame(NamedTuple):
    """A watched game that was seen from its first ply to its last."""

    game: Game
    thoughts: tuple[Thought, ...]


@dataclass
class Sighting:
    """What one update adds."""

    plies: list[WatchedPly] = field(default_factory=list)
    kept: list[KeptGame] = field(default_factory=list)


@dataclass
class _WatchedGame:
    """A game on a board, as far as it has been seen."""

    number: int
    mirrored: bool
    is_whole: bool
    """Seen from its first ply on, without a gap."""
    began: float
    moves: list[str] = field(default_factory=list)
    thoughts: list[Thought] = field(default_factory=list)
    names: list[str] = field(default_factory=lambda: [LEARNER_NAME, LEARNER_NAME])
    looks_without_rows: int = 0


class GameWatcher:
    """Follows a game on each board from update to update."""

    def __init__(
        self, config: AppConfig, agent: PPOAgent, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._env = config.env
        # The plain network: the compiled one would be compiled again for these batches.
        self._inference = Inference(
            agent.network,
            device=agent.device,
            precision=config.training.precision,
            num_threads=torch.get_num_threads(),
        )
        self._clock = clock
        self._mapper = PolicyOutputMapper(config.env.actions)
        boards = max(1, min(MAX_BOARDS, config.env.num_games // GAMES_PER_BOARD))
        self._games: list[_WatchedGame | None] = [None] * boards
        self._free_from = [clock()] * boards
        start = np.frombuffer(ShogiGame().pack(), np.uint8)
        self._start = start[:POSITION_BYTES]
        self._mirrored_start = mirror_records(start[None])[0, :POSITION_BYTES]

    def look(self, rows: RolloutRows) -> Sighting:
        """The rows of one update, each game's in the order of play."""
        self._choose_games(rows)
        seen = Sighting()
        watched = [(board, game) for board, game in enumerate(self._games) if game is not None]
        places = [np.flatnonzero(rows.game == game.number) for _, game in watched]
        policies = self._policies(rows, np.concatenate(places)) if watched else iter(())
        for (board, game), indices in zip(watched, places, strict=True):
            game.looks_without_rows = 0 if len(indices) else game.looks_without_rows + 1
            for index in indices:
                self._see_ply(seen, board, game, rows[int(index)], next(policies))
            is_over = bool(rows.ends()[indices].any())
            if is_over or game.looks_without_rows > PATIENCE_LOOKS:
                self._games[board] = None
                self._free_from[board] = game.began + len(game.moves) / PLIES_PER_SECOND
        return seen

    # ---- which games

    def _choose_games(self, rows: RolloutRows) -> None:
        """Gives every board that is free a game from the standard position, if such games are played at all.

        Half of the games may be mirrored; only of these can be told which.
        """
        now = self._clock()
        boards = [b for b, game in enumerate(self._games) if game is None and self._free_from[b] <= now]
        if not boards:
            return
        taken = {game.number for game in self._games if game is not None}
        for (number, mirrored, is_whole), board in zip(self._candidates(rows, taken), boards, strict=False):
            self._games[board] = _WatchedGame(number, mirrored, is_whole, now)

    def _candidates(self, rows: RolloutRows, taken: set[int]) -> Iterator[tuple[int, bool, bool]]:
        """Games to watch: number, whether it is mirrored, and whether it begins here."""
        if self._env.starts.standard == 0:
            numbers = np.unique(rows.game)
            yield from ((int(number), False, False) for number in numbers if int(number) not in taken)
            return
        at_ply_0 = np.flatnonzero(~rows.record[:, PLY_BYTES].any(axis=1))
        positions = rows.record[at_ply_0, :POSITION_BYTES]
        for index, plain, mirrored in zip(
            at_ply_0,
            (positions == self._start).all(axis=1),
            (positions == self._mirrored_start).all(axis=1),
            strict=True,
        ):
            if (plain or mirrored) and int(rows.game[index]) not in taken:
                yield int(rows.game[index]), bool(mirrored), True

    # ---- what is seen of them

    def _policies(
        self, rows: RolloutRows, indices: NDArray[np.intp]
    ) -> Iterator[tuple[list[int], list[float]]]:
        """The likeliest actions at each row and their probabilities."""
        for start in range(0, len(indices), BATCH_ROWS):
            part = indices[start : start + BATCH_ROWS]
            padded = np.resize(rows.record[part], (BATCH_ROWS, *rows.record.shape[1:]))
            log_probs = self._inference.evaluate(padded).log_probs[: len(part)]
            shares, actions = torch.topk(log_probs.exp(), TOP_MOVES)
            yield from zip(actions.tolist(), shares.tolist(), strict=True)

    def _see_ply(
        self,
        seen: Sighting,
        board: int,
        game: _WatchedGame,
        row: RolloutRows,
        policy: tuple[list[int], list[float]],
    ) -> None:
        position = self._position(row, game)
        actions = np.array([int(row.action), *policy[0]])
        if game.mirrored:
            actions = self._mapper.flip_indices(actions)
        likely = [
            (int(action), share) for action, share in zip(actions[1:], policy[1], strict=True) if share > 0
        ]
        shown = tuple((self._usi(action, position), round(share, DIGITS)) for action, share in likely)
        thought = Thought(round(float(row.value), DIGITS), shown)
        game.is_whole = game.is_whole and position.ply == len(game.moves)
        game.moves.append(self._usi(int(actions[0]), position))
        game.thoughts.append(thought)
        if not row.learner:
            game.names[position.turn] = EARLIER_NAME
        words = ""
        if row.terminated or row.truncated:
            ending = self._ending(game)
            words = OVER if ending is None else _words(ending)
            if ending is not None:
                seen.kept.append(KeptGame(_journal_game(game, ending), tuple(game.thoughts)))
        seen.plies.append(WatchedPly(board, game.number, position.sfen, game.moves[-1], thought, words))

    def _position(self, row: RolloutRows, game: _WatchedGame) -> ShogiGame:
        record = np.ascontiguousarray(row.record)
        if game.mirrored:
            record = mirror_records(record[None])[0]
        return ShogiGame.from_packed(record.tobytes(), impasse_rule=self._env.impasse_rule)

    def _usi(self, action: int, position: ShogiGame) -> str:
        return self._mapper.index_to_move(action, position).usi

    def _ending(self, game: _WatchedGame) -> Outcome | None:
        """How a game ended, by playing it again; None when it was not seen whole."""
        if not game.is_whole:
            return None
        replayed = ShogiGame(max_plies=self._env.max_plies, impasse_rule=self._env.impasse_rule)
        for usi in game.moves:
            replayed.play(usi)
        return replayed.outcome or replayed.declaration()


def _journal_game(game: _WatchedGame, ending: Outcome) -> Game:
    return Game(
        black=game.names[Color.BLACK],
        white=game.names[Color.WHITE],
        start_sfen=ShogiGame().sfen,
        moves=tuple(game.moves),
        winner=None if ending.winner is None else ending.winner.name.lower(),
        reason=ending.reason.value,
    )


def _words(ending: Outcome) -> str:
    reason = ending.reason.value.replace("_", " ")
    return f"draw, {reason}" if ending.winner is None else f"{ending.winner.name.title()} wins, {reason}"
