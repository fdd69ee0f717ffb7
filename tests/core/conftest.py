"""Settings for the tests of the learner."""

import hypothesis
import torch

# Small tensors gain nothing from threads, and several test processes share the cores.
torch.set_num_threads(1)
# The first call into torch may take longer than the deadline of an example.
hypothesis.settings.register_profile("core", deadline=None)
hypothesis.settings.load_profile("core")
