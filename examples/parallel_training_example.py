"""A training loop of your own around worker processes: collect, learn, publish the new weights.

python examples/parallel_training_example.py --parallel.num_workers 2
"""

import sys

from keisei.config_loader import load_config, parse_override_tokens
from keisei.core import ExperienceBuffer, PPOAgent
from keisei.core.devices import choose_device
from keisei.training.parallel import ParallelManager

UPDATES = 4
RESET_INTERVAL = 3  # updates
SETTINGS = {
    "parallel.num_workers": 2,
    "env.num_games": 16,
    "training.rollout_plies": 16,
    "model.channels": 16,
}


def main() -> None:
    overrides = {"training.minibatch_size": 64, **SETTINGS, **parse_override_tokens(sys.argv[1:])}
    config = load_config(None, overrides).config
    training = config.training
    agent = PPOAgent(config, choose_device(training.device))
    buffer = ExperienceBuffer(config.rollout_rows)
    manager = ParallelManager(config)
    manager.start_workers()
    try:
        for update in range(UPDATES):
            # Nothing is played before the first weights; in sync mode all rows are played by the newest.
            version = manager.sync_model_to_workers(agent.network.state_dict())
            buffer.clear()
            while len(buffer) < config.rollout_rows:
                for batch in manager.collect_experiences(timeout=5.0):
                    buffer.add_batch(batch.rows)
            buffer.compute_targets(gamma=training.gamma, lam=training.gae_lambda)
            metrics = agent.learn(buffer, progress=update / UPDATES)
            print(f"version {version}: {len(buffer)} rows, loss {metrics['loss']:.3f}")
            if (update + 1) % RESET_INTERVAL == 0:
                manager.reset_workers()
        manager.pause_workers([0])
        manager.resume_workers([0])
        status = manager.get_status()
        print(f"active workers: {status['active_workers']}, queue: {status['queue_info']}")
        for worker, own in status["workers"].items():
            print(
                f"worker {worker}: {own['plies']} plies, {own['plies_per_second']:.0f} a second while playing"
            )
    finally:
        manager.stop_workers()


if __name__ == "__main__":  # worker processes import this file
    main()
