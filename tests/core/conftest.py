"""Settings for the tests of the learner."""

import torch

# Small tensors gain nothing from threads, and several test processes share the cores.
torch.set_num_threads(1)
