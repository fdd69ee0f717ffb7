"""Random self-play in many games at once through Gymnasium: ``python examples/gymnasium_vector.py [plies]``."""

import sys
from collections import Counter

import numpy as np

from keisei.envs.vector import ShogiGymVectorEnv


def main(plies: int) -> None:
    envs = ShogiGymVectorEnv(num_envs=64)
    rng = np.random.default_rng(0)
    _, info = envs.reset(seed=0)
    endings: Counter[str] = Counter()
    for _ in range(plies):
        # The largest of random numbers, legal actions only: a uniformly random legal action for each game.
        actions = np.argmax(rng.random(info["action_mask"].shape) * info["action_mask"], axis=1)
        _, rewards, terminated, truncated, info = envs.step(actions)
        ended = terminated | truncated
        if ended.any():
            endings.update(info["final_info"]["reason"][ended])
            # The reward belongs to the player who just moved: +1 for a mate.
            endings["wins of the last mover"] += int((rewards > 0).sum())
    print(f"{plies * envs.num_envs} plies in {envs.num_envs} games; {dict(endings)}")
    envs.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000)
