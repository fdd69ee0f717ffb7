"""The learner: networks, rows, advantages, losses and the agent that improves by them."""
