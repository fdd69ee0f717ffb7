"""Small self-play for the tests of this folder: an environment, networks, and a slow replay as the oracle."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from mirror import mirrored_sfen
from network_samples import network

from keisei.core.inference import Inference
from keisei.core.rollout import PlaySettings, Rollout, RolloutSummary
from keisei.core.rollout_rows import RolloutRows
from keisei.shogi import Color, Move, PolicyOutputMapper, ShogiGame, ShogiVectorEnv, Starts

# Few pieces, all of them mating material, none of it symmetric: games end in mate, by the cap, in either colour.
START = "2k6/9/4p4/9/9/9/4P4/9/6K2 b 2G2Sr2g2s 1"
CAP = 24
ACTIONS = 2187
CPU = torch.device("cpu")


def settings(**changes: object) -> PlaySettings:
    plain: dict[str, object] = {
        "mate_in_one": True,
        "opponent_share": 0.0,
        "games_kept": 0,
        "temperature": 1.0,
    }
    return PlaySettings(**{**plain, **changes})


def environment(
    games: int = 12, seed: int = 3, *, mate_in_one: bool = True, mirror: bool = False
) -> ShogiVectorEnv:
    starts = Starts(standard=0, listed=1, sfens=[START])
    return ShogiVectorEnv(
        games, seed, 1, starts=starts, max_plies=CAP, mate_in_one=mate_in_one, mirror=mirror
    )


def inference(seed: int = 0, architecture: str = "cnn") -> Inference:
    return Inference(network(architecture, ACTIONS, seed), device=CPU, precision="fp32")


@dataclass
class Played:
    """One or more rollouts of the same games, one after the other."""

    rollout: Rollout
    rows: RolloutRows
    summaries: list[RolloutSummary]


def play(
    play_settings: PlaySettings,
    *,
    plies: int = 40,
    rollouts: int = 1,
    games: int = 12,
    seed: int = 3,
    mirror: bool = False,
) -> Played:
    env = environment(games, seed, mate_in_one=play_settings.mate_in_one, mirror=mirror)
    rollout = Rollout(env, play_settings, seed=seed)
    rows = RolloutRows.allocate(plies * rollouts, games)
    summaries = [
        rollout.play(
            rows[part * plies : (part + 1) * plies],
            inference(),
            version=part + 1,
            opponent=inference(seed=1) if play_settings.opponent_share else None,
        )
        for part in range(rollouts)
    ]
    return Played(rollout, rows, summaries)


@dataclass
class ReplayedPly:
    """One ply as a ShogiGame plays it, in the frame that the rows have."""

    ply: int
    column: int
    before: ShogiGame
    move: Move
    after: ShogiGame
    reward: float
    done: bool
    truncated: bool


def replay(rows: RolloutRows) -> Iterator[ReplayedPly]:
    """Plays the actions of the rows again, game by game, from the one start that the environment has."""
    mapper = PolicyOutputMapper(ACTIONS)
    for column in range(rows.action.shape[1]):
        game: ShogiGame | None = None
        for ply in range(len(rows.action)):
            if game is None:
                game = _first_position(rows.record[ply, column])
            before = game.copy()
            move = mapper.index_to_move(int(rows.action[ply, column]), game)
            _, reward, done, info = game.make_move(move)
            yield ReplayedPly(ply, column, before, move, game.copy(), reward, done, info["truncated"])
            game = None if done else game


def _first_position(record: np.ndarray) -> ShogiGame:
    """The start, or its mirror image where the game is seen mirrored."""
    start = ShogiGame(START, max_plies=CAP)
    return start if start.pack() == record.tobytes() else ShogiGame(mirrored_sfen(START), max_plies=CAP)


def is_mirrored(ply: ReplayedPly) -> bool:
    return ply.before.start_sfen != ShogiGame(START).start_sfen


def color_name(color: Color | None) -> str | None:
    return None if color is None else color.name.lower()
