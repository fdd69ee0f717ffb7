"""Does it learn at all? A tiny network, taught by imitation, finds mates in one that it has never seen.

The positions come from random play with golds and silvers, so that a mate is a matter of a few squares around the
king. In random play from the standard position mates hang on sliding pieces across a crowded board: there networks of
this size find about 84 % of unseen mates after a minute.
"""

import time

import numpy as np
import torch

from keisei.config_loader import load_config
from keisei.core.experience_buffer import ExperienceBuffer
from keisei.core.ppo_agent import PPOAgent
from keisei.core.rollout_rows import RolloutRows
from keisei.shogi import NO_ACTION, PolicyOutputMapper, ShogiGame, ShogiVectorEnv, Starts

START = "4k4/9/9/9/9/9/9/9/4K4 b 2G2S2g2s 1"
CAP = 60
LESSONS, LESSON_ROWS, UNSEEN = 10, 4096, 500
GOAL = 0.95
CPU_SECONDS = 60
SETTINGS = {
    "model.architecture": "cnn",
    "model.blocks": 3,
    "model.channels": 32,
    "model.se_ratio": 0,
    "model.auxiliary_heads": False,
    "env.num_games": LESSON_ROWS,
    "training.rollout_plies": 1,
    "training.minibatch_size": 64,
    "training.epochs": 1,
    "training.learning_rate": 3e-3,
    "training.learning_rate_end": 1e-5,
    "training.mate_in_one_weight": 1,
    "training.value_weight": 0,
    "training.auxiliary_weight": 0,
    "training.target_kl": 0,
    "training.weight_averaging": 0,
}


def positions_with_a_mate(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Distinct packed positions uint8 [count, 96] and one mating action of each."""
    starts = Starts(standard=0, listed=1, sfens=[START])
    env = ShogiVectorEnv(256, seed, 1, starts=starts, max_plies=CAP, mate_in_one=True)
    found: dict[bytes, int] = {}
    while len(found) < count:
        for game in np.flatnonzero(env.mate_in_one != NO_ACTION):
            found[env.records[game].tobytes()] = int(env.mate_in_one[game])
        env.step(env.random_actions())
    records = np.frombuffer(b"".join(found), np.uint8).reshape(len(found), -1)
    return records[:count], np.fromiter(found.values(), np.int32)[:count]


def lesson(records: np.ndarray, actions: np.ndarray) -> ExperienceBuffer:
    """Rows that the engine would leave behind when it plays these mates."""
    rows = RolloutRows.allocate(1, len(records))
    rows.record[0], rows.action[0] = records, actions
    rows.game[0] = np.arange(len(records))
    rows.reward[0], rows.terminated[0] = 1, True
    rows.learner[0], rows.forced[0] = True, True
    buffer = ExperienceBuffer(len(records))
    buffer.add_batch(rows)
    buffer.compute_targets(gamma=1.0, lam=1.0)
    return buffer


def mates(record: np.ndarray, action: int) -> bool:
    """Is the action a mate? Any will do where there are several; a single game is the judge."""
    game = ShogiGame.from_packed(record.tobytes())
    mover = game.turn
    game.play(PolicyOutputMapper(2187).index_to_move(action, game))
    return game.outcome is not None and game.outcome.winner is mover


def share_found(agent: PPOAgent, records: np.ndarray) -> float:
    return float(np.mean([mates(*pair) for pair in zip(records, agent.select_action(records), strict=True)]))


def test_a_tiny_network_learns_to_mate_in_one() -> None:
    seen, actions = positions_with_a_mate(LESSONS * LESSON_ROWS, seed=1)
    candidates, _ = positions_with_a_mate(2 * UNSEEN, seed=2)
    known = {record.tobytes() for record in seen}
    unseen = np.stack([record for record in candidates if record.tobytes() not in known][:UNSEEN])
    agent = PPOAgent(load_config(None, SETTINGS).config, torch.device("cpu"))
    assert len(unseen) == UNSEEN
    assert share_found(agent, unseen) < 0.3

    began = time.process_time()
    for number in range(LESSONS):
        part = slice(number * LESSON_ROWS, (number + 1) * LESSON_ROWS)
        agent.learn(lesson(seen[part], actions[part]), number / LESSONS)
    assert time.process_time() - began <= CPU_SECONDS
    assert share_found(agent, unseen) >= GOAL
