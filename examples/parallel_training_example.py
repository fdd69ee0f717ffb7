"""A training loop of your own around worker processes: collect, learn, publish the new weights.

python examples/parallel_training_example.py --parallel.num_workers 2
"""

import sys

from keisei.config_loader import load_config, parse_override_tokens
from keisei.core import ExperienceBuffer, PPOAgent
from keisei.core.devices import choose_device
from keisei.training.parallel import ParallelManager

STEPS = 4
SYNC_INTERVAL = 1  # steps
RESET_INTERVAL = 3
SETTINGS = {
    "parallel.num_workers": 2,
    "env.num_games": 16,
    "training.rollout_plies": 16,
    "training.minibatch_size": 64,
    "model.channels": 16,
}


def main() -> None:
    config = load_config(None, {**SETTINGS, **parse_override_tokens(sys.argv[1:])}).config
    training = config.training
    agent = PPOAgent(config, choose_device(training.device))
    buffer = ExperienceBuffer(config.rollout_rows)
    manager = ParallelManager(config, agent.network)
    manager.start_workers()
    try:
        for step in range(STEPS):
            # All rows of one update, played by the weights published last. Workers had the first ones at the start.
            experiences = manager.collect_experiences()
            if experiences:
                buffer.clear()
                for batch in experiences:
                    buffer.add_batch(batch.rows)
                buffer.compute_targets(gamma=training.gamma, lam=training.gae_lambda)
                loss = agent.learn(buffer, progress=step / STEPS)["loss"]
                print(f"version {manager.version}: {len(buffer)} rows, loss {loss:.3f}")
                if (step + 1) % SYNC_INTERVAL == 0:
                    manager.sync_model_to_workers()
            if (step + 1) % RESET_INTERVAL == 0:
                manager.reset_workers()
        manager.pause_workers([0, 1])
        manager.resume_workers([0, 1])
        status = manager.get_status()
        print(f"active workers: {status['active_workers']}, queue: {status['queue_info']}")
        for worker, own in status["workers"].items():
            print(f"worker {worker}: {own['plies']} plies, {own['plies_per_second']:.0f} a second")
    finally:
        manager.stop_workers()


if __name__ == "__main__":  # worker processes import this file
    main()
