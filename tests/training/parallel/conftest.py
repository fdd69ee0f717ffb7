"""Settings for the tests of parallel self-play."""

import sys
from pathlib import Path

import torch

# Worker processes import the stand-ins of this folder by name, with the search path of the process that starts them.
sys.path.insert(0, str(Path(__file__).parent))
# Small networks gain nothing from threads, and several test processes share the cores.
torch.set_num_threads(1)
