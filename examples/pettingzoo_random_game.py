"""One random game of shogi through PettingZoo: ``python examples/pettingzoo_random_game.py [seed]``."""

import sys

from keisei.envs import shogi_v0


def main(seed: int) -> None:
    env = shogi_v0.env(render_mode="ansi")
    env.reset(seed=seed)
    for index, agent in enumerate(env.possible_agents):
        env.action_space(agent).seed(seed + index)
    plies, rewards, info = 0, {}, {}
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        if terminated or truncated:
            rewards[agent] = reward
            env.step(None)
            continue
        env.step(env.action_space(agent).sample(observation["action_mask"]))
        plies += 1
    print(env.render())
    print(f"{info['reason']} after {plies} plies: black {rewards['black']:+g}, white {rewards['white']:+g}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
